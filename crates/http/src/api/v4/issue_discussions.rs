//! Discussions of issues. Each note of an issue is a discussion of its own.

use axum::http::Method;
use holdfast_app::planning::note::{self, NoteSelection};
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction::{CreateIssue, ReadIssues};

use super::ApiResult;
use super::issues::OneIssue;
use super::notes::NewNoteParams;
use crate::present::v4::discussion::{DiscussionDetail, DiscussionKey, present_individual};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneIssue) -> ApiResult<PageBody<DiscussionDetail>> {
    let target = params.find_target(&context).await?;
    let (actor, selection) = (&context.actor, NoteSelection::default());
    let page = note::list(context.app(), actor, &params.id, target, selection, context.page).await?;
    Ok(PageBody(page.map(|note| present_individual(note, context.site()))))
}

params! {
    struct OneDiscussion {
        flatten issue: OneIssue,
        /// Id of the discussion.
        required discussion_id: DiscussionKey,
    }
}

async fn show(context: RequestContext, params: OneDiscussion) -> ApiResult<Body<DiscussionDetail>> {
    let target = params.issue.find_target(&context).await?;
    let note = match params.discussion_id {
        DiscussionKey::Number(id) => id.into(),
        DiscussionKey::Note(_) => return Err(Error::NotFound(Resource::Note).into()),
    };
    let note = note::show(context.app(), &context.actor, &params.issue.id, target, note).await?;
    Ok(Body(present_individual(note, context.site())))
}

params! {
    struct CreateDiscussion {
        flatten issue: OneIssue,
        flatten note: NewNoteParams,
    }
}

async fn create(context: RequestContext, params: CreateDiscussion) -> ApiResult<Created<DiscussionDetail>> {
    let target = params.issue.find_target(&context).await?;
    let NewNoteParams { body, created_at, .. } = params.note;
    let note = note::create(context.app(), &context.actor, &params.issue.id, target, &body, created_at).await?;
    Ok(Created(present_individual(note, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues/:issue_iid/discussions";
    const ONE: &str = "/projects/:id/issues/:issue_iid/discussions/:discussion_id";
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    routes.add(Method::GET, PATH, read, "List the discussions of an issue", list);
    routes.add(Method::GET, ONE, read, "Get a discussion of an issue", show);
    routes.add(Method::POST, PATH, write, "Start a discussion of an issue with a note", create);
}

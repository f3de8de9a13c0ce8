use axum::http::Method;
use chrono::{DateTime, Utc};
use holdfast_app::planning::note::{self, NoteSelection, NoteTarget};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{IssueId, NoteId};
use holdfast_domain::policy::ProjectAction::{CreateIssue, ReadIssues};

use super::ApiResult;
use super::issues::OneIssue;
use crate::error::ApiError;
use crate::present::note::{NoteBody, present_note};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneIssue) -> ApiResult<PageBody<NoteBody>> {
    let target = NoteTarget::Issue(params.issue_id);
    let page =
        note::list(context.app(), &context.actor, &params.id, target, NoteSelection::default(), context.page).await?;
    Ok(PageBody(page.map(|note| present_note(note, context.site()))))
}

params! {
    struct OneNote {
        required id: ProjectRef,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
        required note_id: NoteId,
    }
}

async fn show(context: RequestContext, params: OneNote) -> ApiResult<Body<NoteBody>> {
    let target = NoteTarget::Issue(params.issue_id);
    let note = note::show(context.app(), &context.actor, &params.id, target, params.note_id).await?;
    Ok(Body(present_note(note, context.site())))
}

params! {
    struct CreateNote {
        required id: ProjectRef,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
        /// Text of the note.
        required body: String,
        /// Time of creation. Ignored unless the current user is an owner of the project.
        optional created_at: DateTime<Utc>,
    }
}

/// Creates a note. Invalid values result in 404, as existing clients expect.
async fn create(context: RequestContext, params: CreateNote) -> ApiResult<Created<NoteBody>> {
    let issue = NoteTarget::Issue(params.issue_id);
    let note = note::create(context.app(), &context.actor, &params.id, issue, &params.body, params.created_at).await;
    let note = note.map_err(|error| ApiError::from(error).invalid_as_not_found())?;
    Ok(Created(present_note(note, context.site())))
}

params! {
    struct UpdateNote {
        required id: ProjectRef,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
        required note_id: NoteId,
        /// Text of the note.
        required body: String,
    }
}

async fn update(context: RequestContext, params: UpdateNote) -> ApiResult<Body<NoteBody>> {
    let (issue, id) = (NoteTarget::Issue(params.issue_id), params.note_id);
    let note = note::update(context.app(), &context.actor, &params.id, issue, id, &params.body).await?;
    Ok(Body(present_note(note, context.site())))
}

async fn delete(context: RequestContext, params: OneNote) -> ApiResult<Body<NoteBody>> {
    let target = NoteTarget::Issue(params.issue_id);
    let note = note::delete(context.app(), &context.actor, &params.id, target, params.note_id).await?;
    Ok(Body(present_note(note, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/issues/:issue_id/notes";
    const ONE: &str = "/projects/:id/issues/:issue_id/notes/:note_id";
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    routes.add(Method::GET, PATH, read, "List the notes of an issue", list);
    routes.add(Method::GET, ONE, read, "Get an issue note", show);
    routes.add(Method::POST, PATH, write, "Create an issue note", create);
    routes.add(Method::PUT, ONE, write, "Update an issue note", update);
    routes.add(Method::DELETE, ONE, write, "Delete an issue note", delete);
}

//! Emoji on issues, merge requests and notes.

use axum::http::Method;
use holdfast_app::planning::award::{self, AwardAddress};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::AwardId;
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, CreateIssue, ReadIssues, ReadMergeRequests};

use super::ApiResult;
use crate::present::award::{AwardBody, present_award};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes};

async fn list(context: RequestContext, id: ProjectRef, address: AwardAddress) -> ApiResult<PageBody<AwardBody>> {
    let page = award::list(context.app(), &context.actor, &id, address, context.page).await?;
    Ok(PageBody(page.map(|award| present_award(award, address, context.site()))))
}

async fn show(
    context: RequestContext,
    id: ProjectRef,
    address: AwardAddress,
    award: AwardId,
) -> ApiResult<Body<AwardBody>> {
    let award = award::show(context.app(), &context.actor, &id, address, award).await?;
    Ok(Body(present_award(award, address, context.site())))
}

async fn create(
    context: RequestContext,
    id: ProjectRef,
    address: AwardAddress,
    name: &str,
) -> ApiResult<Created<AwardBody>> {
    let award = award::create(context.app(), &context.actor, &id, address, name).await?;
    Ok(Created(present_award(award, address, context.site())))
}

async fn delete(
    context: RequestContext,
    id: ProjectRef,
    address: AwardAddress,
    award: AwardId,
) -> ApiResult<Body<AwardBody>> {
    let award = award::delete(context.app(), &context.actor, &id, address, award).await?;
    Ok(Body(present_award(award, address, context.site())))
}

/// Declares the routes of the emoji of one kind of target, whose ids are parameters of the path.
macro_rules! award_routes {
    ($module:ident, $path:literal, $what:literal, ($($name:ident: $Type:ident),+), $address:expr) => {
        mod $module {
            use super::*;
            use crate::params;
            use holdfast_app::planning::note::NoteTarget;
            #[allow(unused_imports, reason = "not all kinds of targets have all ids")]
            use holdfast_domain::ids::{IssueId, MergeRequestId, NoteId};

            params! {
                struct Target {
                    required id: ProjectRef,
                    $(required $name: $Type,)+
                }
            }

            params! {
                struct One {
                    flatten target: Target,
                    required award_id: AwardId,
                }
            }

            params! {
                struct Create {
                    flatten target: Target,
                    /// Name of the emoji, without colons.
                    required name: String,
                }
            }

            impl Target {
                fn split(self) -> (ProjectRef, AwardAddress) {
                    let address: fn(&Self) -> AwardAddress = $address;
                    (self.id.clone(), address(&self))
                }
            }

            async fn list(context: RequestContext, params: Target) -> ApiResult<PageBody<AwardBody>> {
                let (id, address) = params.split();
                super::list(context, id, address).await
            }

            async fn show(context: RequestContext, params: One) -> ApiResult<Body<AwardBody>> {
                let (id, address) = params.target.split();
                super::show(context, id, address, params.award_id).await
            }

            async fn create(context: RequestContext, params: Create) -> ApiResult<Created<AwardBody>> {
                let (id, address) = params.target.split();
                super::create(context, id, address, &params.name).await
            }

            async fn delete(context: RequestContext, params: One) -> ApiResult<Body<AwardBody>> {
                let (id, address) = params.target.split();
                super::delete(context, id, address, params.award_id).await
            }

            pub fn routes(routes: &mut Routes, read: Access, write: Access) {
                const ONE: &str = concat!($path, "/:award_id");
                routes.add(Method::GET, $path, read, concat!("List the emoji of ", $what), list);
                routes.add(Method::GET, ONE, read, concat!("Get an emoji of ", $what), show);
                routes.add(Method::POST, $path, write, concat!("Give an emoji to ", $what), create);
                routes.add(Method::DELETE, ONE, write, concat!("Delete an emoji of ", $what), delete);
            }
        }
    };
}

award_routes!(
    of_issue,
    "/projects/:id/issues/:issue_id/award_emoji",
    "an issue",
    (issue_id: IssueId),
    |it| AwardAddress { noteable: NoteTarget::Issue(it.issue_id), note: None }
);
award_routes!(
    of_issue_note,
    "/projects/:id/issues/:issue_id/notes/:note_id/award_emoji",
    "an issue note",
    (issue_id: IssueId, note_id: NoteId),
    |it| AwardAddress { noteable: NoteTarget::Issue(it.issue_id), note: Some(it.note_id) }
);
award_routes!(
    of_merge_request,
    "/projects/:id/merge_requests/:merge_request_id/award_emoji",
    "a merge request",
    (merge_request_id: MergeRequestId),
    |it| AwardAddress { noteable: NoteTarget::MergeRequest(it.merge_request_id), note: None }
);
award_routes!(
    of_merge_request_note,
    "/projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji",
    "a merge request note",
    (merge_request_id: MergeRequestId, note_id: NoteId),
    |it| AwardAddress { noteable: NoteTarget::MergeRequest(it.merge_request_id), note: Some(it.note_id) }
);

pub fn routes(routes: &mut Routes) {
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    of_issue::routes(routes, read, write);
    of_issue_note::routes(routes, read, write);
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(CommentOnMergeRequests));
    of_merge_request::routes(routes, read, write);
    of_merge_request_note::routes(routes, read, write);
}

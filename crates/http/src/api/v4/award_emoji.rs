//! Emoji on issues, merge requests and notes.

use axum::http::Method;
use holdfast_app::planning::award::{self, AwardAddress};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{AwardId, NoteId};
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, CreateIssue, ReadIssues, ReadMergeRequests};

use super::ApiResult;
use super::issues::OneIssue;
use super::merge_requests::OneMergeRequest;
use crate::present::v4::note::{AwardEmoji, present_award};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct IssueNote {
        flatten issue: OneIssue,
        required note_id: NoteId,
    }
}

params! {
    struct MergeRequestNote {
        flatten request: OneMergeRequest,
        required note_id: NoteId,
    }
}

/// What an emoji is given to, as the path names it.
trait Awardable {
    /// Returns the project, and what the emoji is given to.
    async fn find(self, context: &RequestContext) -> ApiResult<(ProjectRef, AwardAddress)>;
}

impl Awardable for OneIssue {
    async fn find(self, context: &RequestContext) -> ApiResult<(ProjectRef, AwardAddress)> {
        let noteable = self.find_target(context).await?;
        Ok((self.id, AwardAddress { noteable, note: None }))
    }
}

impl Awardable for IssueNote {
    async fn find(self, context: &RequestContext) -> ApiResult<(ProjectRef, AwardAddress)> {
        let noteable = self.issue.find_target(context).await?;
        Ok((self.issue.id, AwardAddress { noteable, note: Some(self.note_id) }))
    }
}

impl Awardable for OneMergeRequest {
    async fn find(self, context: &RequestContext) -> ApiResult<(ProjectRef, AwardAddress)> {
        let noteable = self.find_target(context).await?;
        Ok((self.id, AwardAddress { noteable, note: None }))
    }
}

impl Awardable for MergeRequestNote {
    async fn find(self, context: &RequestContext) -> ApiResult<(ProjectRef, AwardAddress)> {
        let noteable = self.request.find_target(context).await?;
        Ok((self.request.id, AwardAddress { noteable, note: Some(self.note_id) }))
    }
}

/// Declares the routes of the emoji of one kind of target.
macro_rules! award_routes {
    ($module:ident, $Target:ident, $path:literal, $what:literal) => {
        mod $module {
            use super::*;

            params! {
                struct One {
                    flatten target: $Target,
                    required award_id: AwardId,
                }
            }

            params! {
                struct Create {
                    flatten target: $Target,
                    /// Name of the emoji, without colons.
                    required name: String,
                }
            }

            async fn list(context: RequestContext, params: $Target) -> ApiResult<PageBody<AwardEmoji>> {
                let (id, address) = params.find(&context).await?;
                let page = award::list(context.app(), &context.actor, &id, address, context.page).await?;
                Ok(PageBody(page.map(|award| present_award(award, address, context.site()))))
            }

            async fn show(context: RequestContext, params: One) -> ApiResult<Body<AwardEmoji>> {
                let (id, address) = params.target.find(&context).await?;
                let award = award::show(context.app(), &context.actor, &id, address, params.award_id).await?;
                Ok(Body(present_award(award, address, context.site())))
            }

            async fn create(context: RequestContext, params: Create) -> ApiResult<Created<AwardEmoji>> {
                let (id, address) = params.target.find(&context).await?;
                let award = award::create(context.app(), &context.actor, &id, address, &params.name).await?;
                Ok(Created(present_award(award, address, context.site())))
            }

            async fn delete(context: RequestContext, params: One) -> ApiResult<NoContent> {
                let (id, address) = params.target.find(&context).await?;
                award::delete(context.app(), &context.actor, &id, address, params.award_id).await?;
                Ok(NoContent)
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

award_routes!(of_issue, OneIssue, "/projects/:id/issues/:issue_iid/award_emoji", "an issue");
award_routes!(of_issue_note, IssueNote, "/projects/:id/issues/:issue_iid/notes/:note_id/award_emoji", "an issue note");
award_routes!(
    of_merge_request,
    OneMergeRequest,
    "/projects/:id/merge_requests/:merge_request_iid/award_emoji",
    "a merge request"
);
award_routes!(
    of_merge_request_note,
    MergeRequestNote,
    "/projects/:id/merge_requests/:merge_request_iid/notes/:note_id/award_emoji",
    "a merge request note"
);

pub fn routes(routes: &mut Routes) {
    let (read, write) = (Access::Project(ReadIssues), Access::Project(CreateIssue));
    of_issue::routes(routes, read, write);
    of_issue_note::routes(routes, read, write);
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(CommentOnMergeRequests));
    of_merge_request::routes(routes, read, write);
    of_merge_request_note::routes(routes, read, write);
}

//! Actions on a merge request: merge, close, reopen, subscribe, and resolve discussions.

use holdfast_app::merge_requests::accept::AcceptMergeRequest;
use holdfast_app::merge_requests::action;
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::{Error, Result};
use holdfast_domain::ids::DiscussionId;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::overview::OneMergeRequest;
use super::review::changes_address;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;

pub fn declare(pages: &mut Pages) {
    let write = Access::Project(ProjectAction::CommentOnMergeRequests);
    pages
        .post("/:namespace/:project/merge_requests/:iid/merge", write, Cost::Normal, "Merge", merge)
        .api("PUT /projects/:id/merge_requests/:merge_request_id/merge");
    pages
        .post(
            "/:namespace/:project/merge_requests/:iid/cancel_merge",
            write,
            Cost::Normal,
            "Cancel a waiting merge",
            cancel_merge,
        )
        .api("POST /projects/:id/merge_requests/:merge_request_id/cancel_merge_when_build_succeeds");
    pages
        .post("/:namespace/:project/merge_requests/:iid/close", write, Cost::Normal, "Close", close)
        .api("PUT /projects/:id/merge_requests/:merge_request_id");
    pages
        .post("/:namespace/:project/merge_requests/:iid/reopen", write, Cost::Normal, "Reopen", reopen)
        .api("PUT /projects/:id/merge_requests/:merge_request_id");
    pages
        .post("/:namespace/:project/merge_requests/:iid/subscribe", write, Cost::Normal, "Subscribe", subscribe)
        .api("POST /projects/:id/merge_requests/:merge_request_id/subscription");
    pages
        .post("/:namespace/:project/merge_requests/:iid/unsubscribe", write, Cost::Normal, "Unsubscribe", unsubscribe)
        .api("DELETE /projects/:id/merge_requests/:merge_request_id/subscription");
    pages
        .post(
            "/:namespace/:project/merge_requests/:iid/discussions/:discussion_id/resolve",
            write,
            Cost::Normal,
            "Resolve a discussion",
            resolve,
        )
        .api("PUT /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id");
    pages
        .post(
            "/:namespace/:project/merge_requests/:iid/discussions/:discussion_id/unresolve",
            write,
            Cost::Normal,
            "Reopen a discussion",
            unresolve,
        )
        .api("PUT /projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id");
}

params! {
    struct MergeParams {
        flatten path: OneMergeRequest,
        /// The head that the viewer has seen.
        optional sha: String,
        /// The target branch that the viewer has seen.
        optional target: String,
        optional remove_source_branch: bool,
        /// Whether the merge waits for the pipeline of the head.
        optional waits: bool,
    }
}

/// Merges what the viewer has seen. What keeps it from being merged is listed on the page of the merge request.
async fn merge(context: RequestContext, params: MergeParams) -> PageResult {
    let MergeParams { path, sha, target, remove_source_branch, waits } = params;
    let input = AcceptMergeRequest {
        // Without the head and the branch that the page shows, nothing was seen.
        sha: Some(sha.unwrap_or_default()),
        target_branch: Some(target.unwrap_or_default()),
        message: None,
        removes_source_branch: remove_source_branch,
        waits_for_build: waits.unwrap_or_default(),
    };
    let reference = path.project.reference();
    let merged = action::merge(context.app(), &context.actor, &reference, path.iid, input).await;
    let flash = |request: &MergeRequest| match request.waits_for_build {
        true => FlashCode::MergeWaits,
        false => FlashCode::MergeRequestMerged,
    };
    respond_to(&path, merged, flash)
}

async fn cancel_merge(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let canceled = action::cancel_merge(context.app(), &context.actor, &reference, path.iid).await;
    respond_to(&path, canceled, |_| FlashCode::MergeCanceled)
}

async fn close(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let closed = action::set_state(context.app(), &context.actor, &reference, path.iid, StateEvent::Close).await;
    respond_to(&path, closed, |_| FlashCode::MergeRequestClosed)
}

async fn reopen(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let reopened = action::set_state(context.app(), &context.actor, &reference, path.iid, StateEvent::Reopen).await;
    respond_to(&path, reopened, |_| FlashCode::MergeRequestReopened)
}

/// Redirects to the merge request. The message tells what was done, or why nothing was.
fn respond_to(
    path: &OneMergeRequest,
    result: Result<MergeRequest>,
    done: impl FnOnce(&MergeRequest) -> FlashCode,
) -> PageResult {
    let (address, flash) = match result {
        Ok(request) => (ProjectLinks::new(&request.project_path).merge_request(request.iid), done(&request)),
        Err(error) => {
            let flash = match error {
                Error::NotMergeable => FlashCode::MergeBlocked,
                Error::MergeConflict => FlashCode::MergeConflicts,
                Error::Conflict(_) => FlashCode::MergeRequestChanged,
                // The viewer is known: this is the error for users who may not merge into the branch.
                Error::Unauthenticated => FlashCode::MergeForbidden,
                error => return Err(error.into()),
            };
            (path.project.links().merge_request(path.iid), flash)
        }
    };
    Ok(respond::see_other(address).with_flash(flash))
}

async fn subscribe(context: RequestContext, path: OneMergeRequest) -> PageResult {
    set_subscribed(&context, &path, true, FlashCode::MergeRequestSubscribed).await
}

async fn unsubscribe(context: RequestContext, path: OneMergeRequest) -> PageResult {
    set_subscribed(&context, &path, false, FlashCode::MergeRequestUnsubscribed).await
}

async fn set_subscribed(
    context: &RequestContext,
    path: &OneMergeRequest,
    is_subscribed: bool,
    flash: FlashCode,
) -> PageResult {
    let reference = path.project.reference();
    let request = action::set_subscribed(context.app(), &context.actor, &reference, path.iid, is_subscribed).await?;
    let address = ProjectLinks::new(&request.project_path).merge_request(request.iid);
    Ok(respond::see_other(address).with_flash(flash))
}

params! {
    struct OneDiscussion {
        flatten path: OneMergeRequest,
        required discussion_id: DiscussionId,
        /// The address of the page with the changes that the form is on.
        optional to: String,
    }
}

async fn resolve(context: RequestContext, one: OneDiscussion) -> PageResult {
    set_resolved(&context, &one, true, FlashCode::DiscussionResolved).await
}

async fn unresolve(context: RequestContext, one: OneDiscussion) -> PageResult {
    set_resolved(&context, &one, false, FlashCode::DiscussionReopened).await
}

async fn set_resolved(
    context: &RequestContext,
    one: &OneDiscussion,
    is_resolved: bool,
    flash: FlashCode,
) -> PageResult {
    let OneDiscussion { path, discussion_id, to } = one;
    let (app, actor, reference) = (context.app(), &context.actor, path.project.reference());
    let request = action::set_resolved(app, actor, &reference, path.iid, *discussion_id, is_resolved).await?;
    let links = ProjectLinks::new(&request.project_path);
    let address = changes_address(&links, request.iid, to.as_deref());
    let address = address.unwrap_or_else(|| links.merge_request(request.iid));
    Ok(respond::see_other(format!("{address}#discussion_{discussion_id}")).with_flash(flash))
}

//! Discussions of merge requests, comparisons of their versions, and what keeps them from being merged.

use axum::http::{Method, StatusCode};
use holdfast_app::merge_requests::discussion::{self, DiscussedLine, NewPosition, VersionRef};
use holdfast_app::merge_requests::{blocker, version};
use holdfast_domain::ids::{DiscussionId, MergeRequestVersionId};
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, ReadMergeRequests};

use super::ApiResult;
use super::merge_requests::{OneMergeRequest, OneVersion};
use crate::error::ApiError;
use crate::present::discussion::{BlockerBody, DiscussionBody, present_blocker, present_discussion};
use crate::present::note::{NoteBody, present_note};
use crate::present::range_diff::{RangeDiffBody, present_range_diff};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

async fn list(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<DiscussionBody>> {
    let (actor, request) = (&context.actor, params.merge_request_id);
    let page = discussion::list(context.app(), actor, &params.id, request, context.page).await?;
    Ok(PageBody(page.map(|discussion| present_discussion(discussion, context.site()))))
}

choice! {
    enum Side { New = "new", Old = "old" }
}

params! {
    struct CreateParams {
        flatten request: OneMergeRequest,
        /// Text of the first note.
        required body: String,
        /// Path of a file, if the discussion is about a line.
        optional path: String,
        /// Number of the line, from 1 on.
        optional line: i64,
        /// `new`, the default, for a line of the head, `old` for a removed line.
        optional side: Side,
        /// Version that has the line, the newest by default.
        optional version_id: MergeRequestVersionId,
    }
}

async fn create(context: RequestContext, params: CreateParams) -> ApiResult<Created<DiscussionBody>> {
    let position = match (params.path, params.line) {
        (None, None) => None,
        (Some(path), Some(number)) => Some(NewPosition {
            version: params.version_id.map_or(VersionRef::Newest, VersionRef::Id),
            line: DiscussedLine { path, number },
            is_in_base: matches!(params.side, Some(Side::Old)),
        }),
        _ => return Err(ApiError::error(StatusCode::BAD_REQUEST, "path and line are given both or not at all")),
    };
    let OneMergeRequest { id, merge_request_id } = params.request;
    let (actor, body) = (&context.actor, &params.body);
    let created = discussion::create(context.app(), actor, &id, merge_request_id, body, position).await?;
    Ok(Created(present_discussion(created, context.site())))
}

params! {
    struct OneDiscussion {
        flatten request: OneMergeRequest,
        required discussion_id: DiscussionId,
    }
}

async fn show(context: RequestContext, params: OneDiscussion) -> ApiResult<Body<DiscussionBody>> {
    let OneMergeRequest { id, merge_request_id } = params.request;
    let (actor, discussion) = (&context.actor, params.discussion_id);
    let found = discussion::show(context.app(), actor, &id, merge_request_id, discussion).await?;
    Ok(Body(present_discussion(found, context.site())))
}

params! {
    struct ReplyParams {
        flatten discussion: OneDiscussion,
        /// Text of the note.
        required body: String,
    }
}

async fn reply(context: RequestContext, params: ReplyParams) -> ApiResult<Created<NoteBody>> {
    let OneDiscussion { request: OneMergeRequest { id, merge_request_id }, discussion_id } = params.discussion;
    let (actor, body) = (&context.actor, &params.body);
    let note = discussion::reply(context.app(), actor, &id, merge_request_id, discussion_id, body).await?;
    Ok(Created(present_note(note, context.site())))
}

params! {
    struct ResolveParams {
        flatten discussion: OneDiscussion,
        /// Whether the discussion is resolved.
        required resolved: bool,
    }
}

async fn resolve(context: RequestContext, params: ResolveParams) -> ApiResult<Body<DiscussionBody>> {
    let OneDiscussion { request: OneMergeRequest { id, merge_request_id }, discussion_id } = params.discussion;
    let (actor, resolved) = (&context.actor, params.resolved);
    let changed =
        discussion::set_resolved(context.app(), actor, &id, merge_request_id, discussion_id, resolved).await?;
    Ok(Body(present_discussion(changed, context.site())))
}

params! {
    struct RangeDiffParams {
        flatten version: OneVersion,
        /// Id of the version that it is compared with.
        required from: MergeRequestVersionId,
    }
}

async fn range_diff(context: RequestContext, params: RangeDiffParams) -> ApiResult<Body<RangeDiffBody>> {
    let OneVersion { request: OneMergeRequest { id, merge_request_id }, version_id } = params.version;
    let (actor, from) = (&context.actor, params.from);
    let found = version::range_diff(context.app(), actor, &id, merge_request_id, from, version_id).await?;
    Ok(Body(present_range_diff(found)))
}

async fn blockers(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<Vec<BlockerBody>>> {
    let found = blocker::list(context.app(), &context.actor, &params.id, params.merge_request_id).await?;
    Ok(Body(found.into_iter().map(present_blocker).collect()))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/merge_requests/:merge_request_id/discussions";
    const ONE: &str = "/projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id";
    const NOTES: &str = "/projects/:id/merge_requests/:merge_request_id/discussions/:discussion_id/notes";
    const RANGE_DIFF: &str = "/projects/:id/merge_requests/:merge_request_id/versions/:version_id/range_diff";
    const BLOCKERS: &str = "/projects/:id/merge_requests/:merge_request_id/blockers";
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(CommentOnMergeRequests));
    routes.add(Method::GET, ALL, read, "List the discussions of a merge request", list);
    routes.add(Method::POST, ALL, write, "Start a discussion of a merge request", create);
    routes.add(Method::GET, ONE, read, "Get a discussion of a merge request", show);
    routes.add(Method::PUT, ONE, write, "Resolve a discussion, or open it again", resolve);
    routes.add(Method::POST, NOTES, write, "Reply to a discussion", reply);
    routes.add(Method::GET, RANGE_DIFF, read, "Compare two versions of a merge request", range_diff);
    routes.add(Method::GET, BLOCKERS, read, "List the reasons why a merge request cannot be merged", blockers);
}

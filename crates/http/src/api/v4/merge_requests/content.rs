//! The commits, changes and versions of merge requests, and the reasons why they cannot be merged.

use axum::http::Method;
use holdfast_app::merge_requests::{blocker, version};
use holdfast_app::repository::browse::compare;
use holdfast_domain::ids::MergeRequestVersionId;
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::ReadMergeRequests;

use super::{OneMergeRequest, load_full};
use crate::api::ApiResult;
use crate::present::discussion::{BlockerBody, present_blocker};
use crate::present::range_diff::{RangeDiffBody, present_range_diff};
use crate::present::v4::commit::{CommitBody, present_commit};
use crate::present::v4::diff::{DiffFormat, FileDiffBody, present_file_diff};
use crate::present::v4::merge_request::{
    MergeRequestVersion, MergeRequestWithChanges, VersionWithChanges, present_changes, present_version,
    present_version_details,
};
use crate::response::{Body, PageBody, StreamedBody};
use crate::{Access, RequestContext, Routes, params};

async fn commits(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<CommitBody>> {
    let request = params.find_id(&context).await?;
    let found = version::show_commits(context.app(), &context.actor, &params.id, request).await?;
    let (request, mut commits) = found;
    let total = commits.len();
    let shown = commits.drain(context.page.range(total));
    let shown = shown.map(|commit| present_commit(commit, &request.project_path, context.site())).collect();
    Ok(PageBody(Page::with_total(shown, context.page, total)))
}

params! {
    struct DiffParams {
        flatten request: OneMergeRequest,
        /// Whether each diff begins with the lines that name the files.
        optional unidiff: bool,
    }
}

async fn diffs(context: RequestContext, params: DiffParams) -> ApiResult<PageBody<FileDiffBody>> {
    let request = params.request.find_id(&context).await?;
    let (_, changes) = version::show_changes(context.app(), &context.actor, &params.request.id, request).await?;
    let format = DiffFormat::from_unidiff(params.unidiff);
    let page = compare::read_files(changes, context.page).await?;
    Ok(PageBody(page.map(|file| present_file_diff(file, format))))
}

async fn changes(context: RequestContext, params: DiffParams) -> ApiResult<StreamedBody<MergeRequestWithChanges>> {
    let (id, request) = (&params.request.id, params.request.find_id(&context).await?);
    let full = load_full(&context, id, request).await?;
    let (_, changes) = version::show_changes(context.app(), &context.actor, id, request).await?;
    Ok(StreamedBody::new(present_changes(full, changes, DiffFormat::from_unidiff(params.unidiff))))
}

async fn versions(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<MergeRequestVersion>> {
    let request = params.find_id(&context).await?;
    let versions = version::list(context.app(), &context.actor, &params.id, request).await?;
    let range = context.page.range(versions.len());
    let shown = versions[range].iter().map(present_version).collect();
    Ok(PageBody(Page::with_total(shown, context.page, versions.len())))
}

params! {
    struct OneVersion {
        flatten request: OneMergeRequest,
        required version_id: MergeRequestVersionId,
        /// Whether each diff begins with the lines that name the files.
        optional unidiff: bool,
    }
}

async fn show_version(context: RequestContext, params: OneVersion) -> ApiResult<StreamedBody<VersionWithChanges>> {
    let request = params.request.find_id(&context).await?;
    let (actor, id) = (&context.actor, &params.request.id);
    let details = version::show(context.app(), actor, id, request, params.version_id).await?;
    let format = DiffFormat::from_unidiff(params.unidiff);
    Ok(StreamedBody::new(present_version_details(details, format, context.site())))
}

params! {
    struct RangeDiffParams {
        flatten request: OneMergeRequest,
        required version_id: MergeRequestVersionId,
        /// Id of the version that it is compared with.
        required from: MergeRequestVersionId,
    }
}

async fn range_diff(context: RequestContext, params: RangeDiffParams) -> ApiResult<Body<RangeDiffBody>> {
    let request = params.request.find_id(&context).await?;
    let (actor, id) = (&context.actor, &params.request.id);
    let found = version::range_diff(context.app(), actor, id, request, params.from, params.version_id).await?;
    Ok(Body(present_range_diff(found)))
}

async fn blockers(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<Vec<BlockerBody>>> {
    let request = params.find_id(&context).await?;
    let found = blocker::list(context.app(), &context.actor, &params.id, request).await?;
    Ok(Body(found.into_iter().map(present_blocker).collect()))
}

pub fn routes(routes: &mut Routes) {
    const COMMITS: &str = "/projects/:id/merge_requests/:merge_request_iid/commits";
    const DIFFS: &str = "/projects/:id/merge_requests/:merge_request_iid/diffs";
    const CHANGES: &str = "/projects/:id/merge_requests/:merge_request_iid/changes";
    const VERSIONS: &str = "/projects/:id/merge_requests/:merge_request_iid/versions";
    const VERSION: &str = "/projects/:id/merge_requests/:merge_request_iid/versions/:version_id";
    const RANGE_DIFF: &str = "/projects/:id/merge_requests/:merge_request_iid/versions/:version_id/range_diff";
    const BLOCKERS: &str = "/projects/:id/merge_requests/:merge_request_iid/blockers";
    let read = Access::Project(ReadMergeRequests);
    routes.add(Method::GET, COMMITS, read, "List the commits of a merge request", commits);
    routes.add(Method::GET, DIFFS, read, "List the changed files of a merge request", diffs);
    routes.add(Method::GET, CHANGES, read, "Get a merge request with its changes", changes);
    routes.add(Method::GET, VERSIONS, read, "List the versions of a merge request", versions);
    routes.add(Method::GET, VERSION, read, "Get a version of a merge request", show_version);
    routes.add(Method::GET, RANGE_DIFF, read, "Compare two versions of a merge request", range_diff);
    routes.add(Method::GET, BLOCKERS, read, "List the reasons why a merge request cannot be merged", blockers);
}

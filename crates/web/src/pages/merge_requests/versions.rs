//! The versions of a merge request, and the pairs of the commits of two versions.

use holdfast_app::merge_requests::page;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::overview::{OneMergeRequest, viewer};
use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::merge_requests::version_list::versions_page;
use crate::views::repository::range_diff::range_diff_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadMergeRequests);
    pages
        .get("/:namespace/:project/merge_requests/:iid/versions", read, Cost::Heavy, "Versions", list)
        .api("GET /projects/:id/merge_requests/:merge_request_id/versions");
    pages
        .get("/:namespace/:project/merge_requests/:iid/range_diff", read, Cost::Heavy, "Range-diff", range_diff)
        .api("GET /projects/:id/merge_requests/:merge_request_id/versions/:version_id/range_diff");
}

async fn list(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let (found, versions) = page::show_versions(context.app(), &context.actor, &reference, path.iid).await?;
    let (viewer, layout) = viewer(&context, &found)?;
    respond::html(&versions_page(layout, &found, &versions, viewer))
}

params! {
    struct RangeDiffParams {
        flatten path: OneMergeRequest,
        /// The number of the new version.
        optional version: i32,
        /// The number of the old version.
        optional since: i32,
    }
}

/// Shows the pairs of commits. Without both numbers, which the list of versions offers, that list is shown instead.
async fn range_diff(context: RequestContext, params: RangeDiffParams) -> PageResult {
    let RangeDiffParams { path, version, since } = params;
    let (Some(version), Some(since)) = (version, since) else { return list(context, path).await };
    let (app, actor, reference) = (context.app(), &context.actor, path.project.reference());
    let (found, pairs) = page::show_range_diff(app, actor, &reference, path.iid, since, version).await?;
    let (viewer, mut layout) = viewer(&context, &found)?;
    if let Some(new) = found.versions.iter().find(|it| it.number == version) {
        layout.api_call = layout.api_call.map(|call| call.replace(":version_id", &new.id.to_string()));
    }
    let name = |number| format!("!{} version {number}", path.iid);
    respond::html(&range_diff_page(layout, viewer.abilities, &pairs, &name(since), &name(version)))
}

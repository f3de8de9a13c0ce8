//! The commits, changes and pipelines of a merge request.

use holdfast_app::merge_requests::page::{self, VersionNumbers};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::overview::{OneMergeRequest, viewer};
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::repository::diff_params::DiffParams;
use crate::pages::repository::diff_stream::file_sections;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::merge_requests::changes::request_changes_page;
use crate::views::merge_requests::commit_list::request_commits_page;
use crate::views::merge_requests::pipeline_list::request_pipelines_page;
use crate::views::repository::diff::DiffAddress;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadMergeRequests);
    pages
        .get("/:namespace/:project/merge_requests/:iid/commits", read, Cost::Heavy, "Commits", commits)
        .api("GET /projects/:id/merge_requests/:merge_request_id/commits");
    pages
        .get("/:namespace/:project/merge_requests/:iid/changes", read, Cost::Heavy, "Changes", changes)
        .api("GET /projects/:id/merge_requests/:merge_request_id/changes");
    pages.get("/:namespace/:project/merge_requests/:iid/pipelines", read, Cost::Normal, "Pipelines", pipelines);
}

async fn commits(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let found = page::show_commits(context.app(), &context.actor, &reference, path.iid).await?;
    let (viewer, layout) = viewer(&context, &found.page)?;
    respond::html(&request_commits_page(layout, &found, viewer))
}

params! {
    struct ChangesParams {
        flatten path: OneMergeRequest,
        /// The number of the version; the newest one if it is missing.
        optional version: i32,
        /// The number of the version that it is compared with.
        optional since: i32,
        flatten diff: DiffParams,
    }
}

async fn changes(context: RequestContext, params: ChangesParams) -> PageResult {
    let ChangesParams { path, version, since, diff } = params;
    let (reference, numbers) = (path.project.reference(), VersionNumbers { version, since });
    let (app, actor) = (context.app(), &context.actor);
    let found = page::show_changes(app, actor, &reference, path.iid, numbers, diff.selection()).await?;
    let (viewer, layout) = viewer(&context, &found.page)?;
    let links = ProjectLinks::new(&found.page.project.full_path());
    let parameter = |name, number: Option<i32>| number.map(|number| (name, number.to_string()));
    let address = DiffAddress {
        path: links.merge_request_page(path.iid, "changes"),
        layout: diff.layout(),
        parameters: parameter("version", version).into_iter().chain(parameter("since", since)).collect(),
        links,
        revision: found.is_reachable.then(|| found.version.head.to_string()),
    };
    let page = request_changes_page(layout, &found, viewer, &address);
    respond::html_with_parts(&page, file_sections(found.changes, address))
}

async fn pipelines(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let reference = path.project.reference();
    let (app, actor) = (context.app(), &context.actor);
    let (found, pipelines) = page::show_pipelines(app, actor, &reference, path.iid, context.page).await?;
    let (viewer, layout) = viewer(&context, &found)?;
    respond::html(&request_pipelines_page(layout, &found, &pipelines, viewer))
}

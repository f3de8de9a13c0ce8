//! The list of merge requests of a project.

use holdfast_app::merge_requests::search;
use holdfast_domain::planning::{ListKind, ParsedQuery};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::planning::list_filter::{PickerParams, parse_line};
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::merge_requests::list::merge_requests_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadMergeRequests);
    pages
        .get("/:namespace/:project/merge_requests", read, Cost::Normal, "Merge requests", list)
        .api("GET /projects/:id/merge_requests");
}

params! {
    struct ListParams {
        flatten project: ProjectPathParams,
        /// A line of the filter language. The other parameters add words to it.
        optional q: String,
        flatten pickers: PickerParams,
    }
}

async fn list(context: RequestContext, params: ListParams) -> PageResult {
    let kind = ListKind::MergeRequests;
    let ParsedQuery { mut query, problems } = parse_line(kind, &params.q.unwrap_or_default());
    let is_changed = params.pickers.apply(kind, &mut query);
    // The page is heavy only if it searches titles.
    let _permit = if query.text.is_empty() { None } else { context.acquire_heavy_permit().await? };
    let reference = params.project.reference();
    let found = search::search(context.app(), &context.actor, &reference, &query, context.page).await?;
    ensure_address(&context, &found.project)?;
    // The address of the changed filter would not lead to the messages.
    if is_changed && problems.is_empty() {
        return Ok(respond::see_other(params.project.links().merge_requests_matching(&query)));
    }
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&merge_requests_page(layout, abilities, &found, &query, problems, context.now()))
}

//! The list of issues of a project.

use holdfast_app::planning::issue_search;
use holdfast_domain::planning::{ListKind, ParsedQuery};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::list_filter::{PickerParams, parse_line};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::planning::issue_list::{IssueListInput, issues_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadIssues);
    pages.get("/:namespace/:project/issues", read, Cost::Normal, "Issues", list).api("GET /projects/:id/issues");
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
    let ParsedQuery { mut query, problems } = parse_line(ListKind::Issues, &params.q.unwrap_or_default());
    let is_changed = params.pickers.apply(ListKind::Issues, &mut query);
    // The page is heavy only if it searches titles.
    let _permit = if query.text.is_empty() { None } else { context.acquire_heavy_permit().await? };
    let reference = params.project.reference();
    let found = issue_search::search(context.app(), &context.actor, &reference, &query, context.page).await?;
    ensure_address(&context, &found.project)?;
    // The address of the changed filter would not lead to the messages.
    if is_changed && problems.is_empty() {
        return Ok(respond::see_other(params.project.links().issues_matching(&query)));
    }
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let input = IssueListInput { found: &found, query: &query, problems };
    respond::html(&issues_page(layout, abilities, input, context.now()))
}

//! The list of issues of a project.

use holdfast_app::planning::issue_search;
use holdfast_domain::planning::{IssueOrder, IssueQuery, MilestoneFilter, ParsedQuery, PersonFilter, StateFilter};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::params::LabelTitles;
use holdfast_http_core::{Access, params};

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

params! {
    /// The choices beside the filter. Each of them changes the words of the filter.
    struct PickerParams {
        /// `open`, `closed` or `all`.
        optional state: String,
        /// Titles of labels, separated by commas.
        optional labels: LabelTitles,
        /// The title of a milestone, or an empty text.
        optional milestone: String,
        /// A username, `@me`, or `none` for issues without an assignee.
        optional assignee: String,
        /// A value of `sort:`.
        optional order: String,
    }
}

/// Maximum length of a filter in bytes. Arbitrary.
const MAX_QUERY_BYTES: usize = 1000;
/// The value of a picker that selects issues without a milestone or an assignee. Titles can be equal to it; the filter
/// `milestone:none` finds them.
const NONE: &str = "none";

impl PickerParams {
    /// Changes the words of a filter by what was chosen. Returns false if nothing was.
    fn apply(self, query: &mut IssueQuery) -> bool {
        let before = query.clone();
        let chosen = |value: Option<String>| value.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        if let Some(state) = chosen(self.state).and_then(|word| StateFilter::from_str_opt(&word)) {
            query.state = state;
        }
        for title in self.labels.map(|titles| titles.0).unwrap_or_default() {
            if !title.is_empty() && !query.labels.contains(&title) {
                query.labels.push(title);
            }
        }
        if let Some(title) = chosen(self.milestone) {
            query.milestone = Some(match title.as_str() {
                NONE => MilestoneFilter::Missing,
                _ => MilestoneFilter::Title(title),
            });
        }
        if let Some(name) = chosen(self.assignee) {
            query.assignee = Some(match name.as_str() {
                NONE => PersonFilter::Missing,
                "@me" => PersonFilter::Viewer,
                _ => PersonFilter::Username(name),
            });
        }
        if let Some(order) = chosen(self.order).and_then(|word| IssueOrder::from_str_opt(&word)) {
            query.order = order;
        }
        *query != before
    }
}

async fn list(context: RequestContext, params: ListParams) -> PageResult {
    let line = params.q.unwrap_or_default();
    let mut end = line.len().min(MAX_QUERY_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let ParsedQuery { mut query, problems } = IssueQuery::parse(&line[..end]);
    let is_changed = params.pickers.apply(&mut query);
    // The page is heavy only if it searches titles.
    let _permit = if query.text.is_empty() { None } else { context.acquire_heavy_permit().await? };
    let reference = params.project.reference();
    let found = issue_search::search(context.app(), &context.actor, &reference, &query, context.page).await?;
    ensure_address(&context, &found.project)?;
    if is_changed {
        return Ok(respond::see_other(params.project.links().issues_matching(&query)));
    }
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let input = IssueListInput { found: &found, query: &query, problems };
    respond::html(&issues_page(layout, abilities, input, context.now()))
}

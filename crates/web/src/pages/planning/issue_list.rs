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
        /// The filter of the page with the choices.
        optional shown: String,
    }
}

/// Maximum length of a filter in bytes. Arbitrary.
const MAX_QUERY_BYTES: usize = 1000;
/// The value of a picker that selects issues without a milestone or an assignee. Titles can be equal to it; the filter
/// `milestone:none` finds them.
const NONE: &str = "none";

impl PickerParams {
    /// Changes the words of a filter by what was chosen. A choice that the page of the form showed already changes
    /// nothing, because the user may have changed the line of the filter instead. Returns false if nothing was changed.
    fn apply(self, query: &mut IssueQuery) -> bool {
        let before = query.clone();
        if let Some(state) = self.state.and_then(|word| StateFilter::from_str_opt(word.trim())) {
            query.state = state;
        }
        let shown = self.shown.map(|line| parse_line(&line).query);
        if let Some(order) = self.order.and_then(|word| IssueOrder::from_str_opt(word.trim()))
            && shown.as_ref().map(|shown| shown.order) != Some(order)
        {
            query.order = order;
        }
        let shown = shown.unwrap_or_default();
        if let Some(LabelTitles(titles)) = self.labels {
            let current = shown.single_label();
            if titles.len() > 1 || titles.first().map(String::as_str) != current {
                query.labels.retain(|title| Some(title.as_str()) != current);
                for title in titles {
                    if !query.labels.contains(&title) {
                        query.labels.push(title);
                    }
                }
            }
        }
        if let Some(title) = self.milestone {
            let milestone = match title.trim() {
                "" => None,
                NONE => Some(MilestoneFilter::Missing),
                title => Some(MilestoneFilter::Title(title.to_owned())),
            };
            if milestone != shown.milestone {
                query.milestone = milestone;
            }
        }
        if let Some(name) = self.assignee {
            let assignee = match name.trim() {
                "" => None,
                NONE => Some(PersonFilter::Missing),
                "@me" => Some(PersonFilter::Viewer),
                name => Some(PersonFilter::Username(name.to_owned())),
            };
            if assignee != shown.assignee {
                query.assignee = assignee;
            }
        }
        *query != before
    }
}

/// Parses the first bytes of a line.
fn parse_line(line: &str) -> ParsedQuery {
    let mut end = line.len().min(MAX_QUERY_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    IssueQuery::parse(&line[..end])
}

async fn list(context: RequestContext, params: ListParams) -> PageResult {
    let ParsedQuery { mut query, problems } = parse_line(&params.q.unwrap_or_default());
    let is_changed = params.pickers.apply(&mut query);
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

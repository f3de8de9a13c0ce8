//! The list of issues of a project.

use holdfast_app::planning::issue_list::{self, ListIssues, SortKey};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::params::LabelTitles;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::planning::issue_list::{IssueFilters, issues_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadIssues);
    pages.get("/:namespace/:project/issues", read, Cost::Normal, "Issues", list).api("GET /projects/:id/issues");
}

params! {
    struct ListParams {
        flatten project: ProjectPathParams,
        /// `closed` or `all`; open issues by default.
        optional state: String,
        /// Titles, separated by commas.
        optional labels: LabelTitles,
        /// The title of a milestone.
        optional milestone: String,
        /// `created`; the last update by default.
        optional order: String,
    }
}

async fn list(context: RequestContext, params: ListParams) -> PageResult {
    let labels = params.labels.map(|titles| titles.0).unwrap_or_default();
    let known = |value: Option<String>, words: &[&str]| value.filter(|value| words.contains(&value.as_str()));
    let filters = IssueFilters {
        state: known(params.state, &["closed", "all"]).unwrap_or_default(),
        labels: labels.join(", "),
        milestone: params.milestone.unwrap_or_default().trim().to_owned(),
        order: known(params.order, &["created"]).unwrap_or_default(),
    };
    let input = ListIssues {
        closed: match filters.state.as_str() {
            "closed" => Some(true),
            "all" => None,
            _ => Some(false),
        },
        labels,
        milestone_title: Some(filters.milestone.clone()).filter(|title| !title.is_empty()),
        sort_key: if filters.order == "created" { SortKey::CreatedAt } else { SortKey::UpdatedAt },
        ..ListIssues::default()
    };
    let reference = params.project.reference();
    let found = issue_list::list_with_labels(context.app(), &context.actor, &reference, input, context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let (project, now) = (&found.project, context.now());
    respond::html(&issues_page(layout, project, abilities, &found.issues, &found.labels, filters, now))
}

//! The list of issues that concern the viewer.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_domain::page::Page;

use super::frame::{DashboardTab, dashboard_frame};
use super::list_filter::{FilterLink, OwnListFilters};
use super::target_row::TargetRow;
use crate::layout::Layout;
use crate::views::Pages;

#[derive(Template)]
#[template(path = "activity/issues.html")]
pub struct OwnIssuesPage {
    pub layout: Layout,
    pub filters: OwnListFilters,
    pub scopes: Vec<FilterLink>,
    pub states: Vec<FilterLink>,
    pub issues: Vec<TargetRow>,
    pub pages: Pages,
}

const PATH: &str = "/dashboard/issues";
const STATES: [(&str, &str); 3] = [("Open", ""), ("Closed", "closed"), ("All", "all")];

/// Returns the filters from the parameters of the address.
pub fn own_issue_filters(scope: Option<&str>, state: Option<&str>) -> OwnListFilters {
    OwnListFilters::new(PATH, &STATES, scope, state)
}

/// Builds the list.
pub fn own_issues_page(
    layout: Layout,
    issues: &Page<Issue>,
    filters: OwnListFilters,
    now: DateTime<Utc>,
) -> OwnIssuesPage {
    let mut layout = dashboard_frame(layout, DashboardTab::Issues);
    "Your issues".clone_into(&mut layout.title);
    OwnIssuesPage {
        layout,
        filters,
        scopes: filters.scopes(),
        states: filters.states(&STATES),
        issues: issues.items.iter().map(|issue| TargetRow::from_issue(issue, now)).collect(),
        pages: Pages::new(issues, PATH, &filters.parameters()),
    }
}

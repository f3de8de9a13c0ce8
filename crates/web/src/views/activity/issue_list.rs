//! The list of issues that concern the viewer.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_domain::page::Page;

use super::frame::{DashboardTab, dashboard_frame};
use super::issue_row::OwnIssueRow;
use crate::layout::Layout;
use crate::views::{Pages, links};

#[derive(Template)]
#[template(path = "activity/issues.html")]
pub struct OwnIssuesPage {
    pub layout: Layout,
    pub filters: OwnIssueFilters,
    pub scopes: Vec<FilterLink>,
    pub states: Vec<FilterLink>,
    pub issues: Vec<OwnIssueRow>,
    pub pages: Pages,
}

/// The filters of the list as they are in the address. Empty texts are the defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnIssueFilters {
    /// `created`, or an empty text for assigned issues.
    pub scope: &'static str,
    /// `closed`, `all`, or an empty text for open issues.
    pub state: &'static str,
}

impl OwnIssueFilters {
    /// Creates the filters from the parameters of the address. Unknown words are left out.
    pub fn new(scope: Option<&str>, state: Option<&str>) -> Self {
        let known = |words: &[&'static str], word: Option<&str>| {
            words.iter().copied().find(|known| Some(*known) == word).unwrap_or_default()
        };
        Self { scope: known(&["created"], scope), state: known(&["closed", "all"], state) }
    }

    fn parameters(self) -> [(&'static str, &'static str); 2] {
        [("scope", self.scope), ("state", self.state)]
    }

    fn url(self) -> String {
        format!("{PATH}{}", links::query(&self.parameters()))
    }
}

/// A choice of a filter.
#[derive(Clone, Debug)]
pub struct FilterLink {
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
}

const PATH: &str = "/dashboard/issues";

/// Builds the list.
pub fn own_issues_page(
    layout: Layout,
    issues: &Page<Issue>,
    filters: OwnIssueFilters,
    now: DateTime<Utc>,
) -> OwnIssuesPage {
    let mut layout = dashboard_frame(layout, DashboardTab::Issues);
    "Your issues".clone_into(&mut layout.title);
    let scope = |label, scope| {
        let url = OwnIssueFilters { scope, ..filters }.url();
        FilterLink { label, url, is_current: filters.scope == scope }
    };
    let state = |label, state| {
        let url = OwnIssueFilters { state, ..filters }.url();
        FilterLink { label, url, is_current: filters.state == state }
    };
    OwnIssuesPage {
        layout,
        filters,
        scopes: vec![scope("Assigned to you", ""), scope("Created by you", "created")],
        states: vec![state("Open", ""), state("Closed", "closed"), state("All", "all")],
        issues: issues.items.iter().map(|issue| OwnIssueRow::new(issue, now)).collect(),
        pages: Pages::new(issues, PATH, &filters.parameters()),
    }
}

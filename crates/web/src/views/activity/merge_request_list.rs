//! The list of merge requests that concern the viewer.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_domain::page::Page;

use super::frame::{DashboardTab, dashboard_frame};
use super::list_filter::{FilterLink, OwnListFilters};
use super::target_row::TargetRow;
use crate::layout::Layout;
use crate::views::Pages;

#[derive(Template)]
#[template(path = "activity/merge_requests.html")]
pub struct OwnMergeRequestsPage {
    pub layout: Layout,
    pub filters: OwnListFilters,
    pub scopes: Vec<FilterLink>,
    pub states: Vec<FilterLink>,
    pub requests: Vec<TargetRow>,
    pub pages: Pages,
}

const PATH: &str = "/dashboard/merge_requests";
const STATES: [(&str, &str); 4] = [("Open", ""), ("Merged", "merged"), ("Closed", "closed"), ("All", "all")];

/// Returns the filters from the parameters of the address.
pub fn own_merge_request_filters(scope: Option<&str>, state: Option<&str>) -> OwnListFilters {
    OwnListFilters::new(PATH, &STATES, scope, state)
}

/// Builds the list.
pub fn own_merge_requests_page(
    layout: Layout,
    requests: &Page<MergeRequest>,
    filters: OwnListFilters,
    now: DateTime<Utc>,
) -> OwnMergeRequestsPage {
    let mut layout = dashboard_frame(layout, DashboardTab::MergeRequests);
    "Your merge requests".clone_into(&mut layout.title);
    OwnMergeRequestsPage {
        layout,
        filters,
        scopes: filters.scopes(),
        states: filters.states(&STATES),
        requests: requests.items.iter().map(|request| TargetRow::from_merge_request(request, now)).collect(),
        pages: Pages::new(requests, PATH, &filters.parameters()),
    }
}

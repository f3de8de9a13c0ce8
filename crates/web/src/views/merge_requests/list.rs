//! The list of merge requests of a project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::merge_requests::search::MergeRequestSearch;
use holdfast_app::planning::label::Label;
use holdfast_domain::merge_requests::{MergeStatus, is_work_in_progress};
use holdfast_domain::planning::{ListKind, ListQuery, StateFilter};

use super::frame::RequestState;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::planning::label::{LabelChip, LabelChips};
use crate::views::planning::list_filter::ListFilter;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "merge_requests/list.html")]
pub struct MergeRequestsPage {
    pub layout: Layout,
    pub filter: ListFilter,
    pub requests: Vec<RequestRow>,
    pub pages: Pages,
    /// The address of the form of a new merge request, if the viewer may create one.
    pub new_url: Option<String>,
}

#[derive(Clone, Debug)]
pub struct RequestRow {
    pub url: String,
    pub iid: i64,
    pub title: String,
    pub state: RequestState,
    pub is_draft: bool,
    /// Whether git could not merge it when that was tested last.
    pub has_conflicts: bool,
    pub has_unresolved: bool,
    pub target_branch: String,
    pub labels: Vec<LabelChip>,
    pub milestone: Option<String>,
    pub note_count: i64,
    pub assignee: Option<Person>,
    pub updated: Time,
}

/// Builds the list. `problems` are messages about words of the filter that are not understood.
pub fn merge_requests_page(
    layout: Layout,
    abilities: Abilities,
    found: &MergeRequestSearch,
    query: &ListQuery,
    problems: Vec<String>,
    now: DateTime<Utc>,
) -> MergeRequestsPage {
    let MergeRequestSearch { project, requests, choices, other_labels, problems: unknown } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::MergeRequests);
    layout.title = format!("Merge requests · {}", project.full_path());
    let labels: Vec<Label> = choices.labels.iter().chain(other_labels).cloned().collect();
    let chips = LabelChips::new(&labels, &links).of_merge_requests();
    let row = |request: &MergeRequest| RequestRow {
        url: links.merge_request(request.iid),
        iid: request.iid,
        title: request.title.clone(),
        state: request.state.into(),
        is_draft: request.state.is_open() && is_work_in_progress(&request.title),
        has_conflicts: request.state.is_open() && request.merge_status == MergeStatus::CannotBeMerged,
        has_unresolved: request.state.is_open() && !request.discussions_resolved,
        target_branch: request.target_branch.clone(),
        labels: chips.chips(&request.labels),
        milestone: request.milestone.as_ref().map(|milestone| milestone.title.clone()),
        note_count: request.notes_count.into(),
        assignee: request.assignee.as_ref().map(Person::from_user),
        updated: Time::age(request.updated_at, now),
    };
    let (path, has_viewer) = (links.merge_requests(), layout.viewer.is_some());
    let filter = ListFilter::new(ListKind::MergeRequests, path.clone(), query, choices, has_viewer, |query| {
        links.merge_requests_matching(query)
    });
    let text = if *query == ListQuery::default() { String::new() } else { query.to_string() };
    MergeRequestsPage {
        layout,
        filter: filter
            .with_count(query.state, requests.total)
            .with_problems(problems.into_iter().chain(unknown.iter().cloned())),
        requests: requests.items.iter().map(row).collect(),
        pages: Pages::new(requests, &path, &[("q", &text)]),
        new_url: abilities.can_create_merge_requests.then(|| links.new_merge_request()),
    }
}

impl MergeRequestsPage {
    /// Returns what an empty list says: a heading and a sentence.
    pub const fn empty_text(&self) -> (&'static str, &'static str) {
        match self.filter.state {
            StateFilter::Open => {
                ("No open merge requests", "A merge request proposes to merge a branch, and is reviewed first.")
            }
            StateFilter::Merged => ("No merged merge requests", "Merge requests that were merged are listed here."),
            StateFilter::Closed => {
                ("No closed merge requests", "Merge requests that were closed without a merge are listed here.")
            }
            StateFilter::All => {
                ("No merge requests", "A merge request proposes to merge a branch, and is reviewed first.")
            }
        }
    }
}

//! The list of issues of a project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::issue_search::IssueSearch;
use holdfast_app::planning::label::Label;
use holdfast_domain::planning::{IssueState, ListKind, ListQuery, StateFilter};

use super::choices::{PersonChoice, people};
use super::label::{LabelChip, LabelChips};
use super::list_filter::ListFilter;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "planning/issues.html")]
pub struct IssuesPage {
    pub layout: Layout,
    pub filter: ListFilter,
    pub issues: Vec<IssueRow>,
    pub pages: Pages,
    /// Titles of labels and milestones that the selected issues can get.
    pub labels: Vec<String>,
    pub milestones: Vec<String>,
    pub people: Vec<PersonChoice>,
    pub labels_url: String,
    pub milestones_url: String,
    /// The address of the form of a new issue, if the viewer may create one.
    pub new_url: Option<String>,
    /// The address of the action that changes several issues, if the viewer may change them.
    pub bulk_url: Option<String>,
}

#[derive(Clone, Debug)]
pub struct IssueRow {
    pub url: String,
    pub iid: i64,
    pub title: String,
    pub is_closed: bool,
    pub is_confidential: bool,
    pub labels: Vec<LabelChip>,
    pub milestone: Option<String>,
    pub note_count: i64,
    pub assignee: Option<Person>,
    pub updated: Time,
}

/// What the list shows.
#[derive(Clone, Debug)]
pub struct IssueListInput<'a> {
    pub found: &'a IssueSearch,
    pub query: &'a ListQuery,
    /// Messages about words of the filter that are not understood.
    pub problems: Vec<String>,
}

/// Builds the list of issues.
pub fn issues_page(layout: Layout, abilities: Abilities, input: IssueListInput<'_>, now: DateTime<Utc>) -> IssuesPage {
    let IssueListInput {
        found: IssueSearch { project, issues, choices, other_labels, problems: unknown },
        query,
        problems,
    } = input;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Issues · {}", project.full_path());
    let labels: Vec<Label> = choices.labels.iter().chain(other_labels).cloned().collect();
    let chips = LabelChips::new(&labels, &links);
    let row = |issue: &Issue| IssueRow {
        url: links.issue(issue.iid),
        iid: issue.iid,
        title: issue.title.clone(),
        is_closed: issue.state == IssueState::Closed,
        is_confidential: issue.confidential,
        labels: chips.chips(&issue.labels),
        milestone: issue.milestone.as_ref().map(|milestone| milestone.title.clone()),
        note_count: issue.notes_count.into(),
        assignee: issue.assignee.as_ref().map(Person::from_user),
        updated: Time::age(issue.updated_at, now),
    };
    let path = links.issues();
    let open_count = (!query.is_filtered()).then(|| i64::from(project.open_issues(abilities.can_manage_issues)));
    let has_viewer = layout.viewer.is_some();
    let filter = ListFilter::new(ListKind::Issues, path.clone(), query, choices, has_viewer, |query| {
        links.issues_matching(query)
    })
    .with_count(StateFilter::Open, open_count)
    .with_count(query.state, issues.total)
    .with_problems(problems.into_iter().chain(unknown.iter().cloned()));
    let text = if *query == ListQuery::default() { String::new() } else { query.to_string() };
    IssuesPage {
        layout,
        filter,
        issues: issues.items.iter().map(row).collect(),
        pages: Pages::new(issues, &path, &[("q", &text)]),
        labels: choices.labels.iter().map(|label| label.title.clone()).collect(),
        milestones: choices.milestones.iter().map(|milestone| milestone.title.clone()).collect(),
        people: people(&choices.people),
        labels_url: links.labels(),
        milestones_url: links.milestones(),
        new_url: abilities.can_create_issues.then(|| links.new_issue()),
        bulk_url: (abilities.can_manage_issues && !issues.items.is_empty()).then(|| links.issues_bulk()),
    }
}

//! The list of issues of a project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::label::Label;
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;
use holdfast_domain::planning::IssueState;

use super::label::{LabelChip, LabelChips};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, Person, ProjectLinks, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "planning/issues.html")]
pub struct IssuesPage {
    pub layout: Layout,
    pub path: String,
    pub filters: IssueFilters,
    pub states: Vec<StateLink>,
    pub issues: Vec<IssueRow>,
    pub pages: Pages,
}

/// The filters of the list as they are in the address. Empty texts are the defaults.
#[derive(Clone, Debug, Default)]
pub struct IssueFilters {
    /// `closed`, `all`, or an empty text for open issues.
    pub state: String,
    /// Titles of labels, separated by commas.
    pub labels: String,
    /// The title of a milestone.
    pub milestone: String,
    /// `created`, or an empty text for the last update.
    pub order: String,
}

impl IssueFilters {
    /// Returns whether a filter other than the state is set.
    pub fn is_filtered(&self) -> bool {
        !self.labels.is_empty() || !self.milestone.is_empty()
    }

    fn parameters(&self) -> [(&str, &str); 4] {
        [
            ("state", self.state.as_str()),
            ("labels", self.labels.as_str()),
            ("milestone", self.milestone.as_str()),
            ("order", self.order.as_str()),
        ]
    }
}

/// A choice of the state: open, closed or all.
#[derive(Clone, Debug)]
pub struct StateLink {
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
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

/// Builds the list of issues. `labels` are those of the issues, for their colors.
pub fn issues_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    issues: &Page<Issue>,
    labels: &[Label],
    filters: IssueFilters,
    now: DateTime<Utc>,
) -> IssuesPage {
    let project_links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Issues · {}", project.full_path());
    let chips = LabelChips::new(labels, &project_links);
    let row = |issue: &Issue| IssueRow {
        url: project_links.issue(issue.iid),
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
    let path = project_links.issues();
    let state = |label, value: &str| {
        let mut parameters = filters.parameters();
        parameters[0].1 = value;
        StateLink { label, url: format!("{path}{}", links::query(&parameters)), is_current: filters.state == value }
    };
    IssuesPage {
        layout,
        states: vec![state("Open", ""), state("Closed", "closed"), state("All", "all")],
        issues: issues.items.iter().map(row).collect(),
        pages: Pages::new(issues, &path, &filters.parameters()),
        path,
        filters,
    }
}

//! The page of a milestone with its issues.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::milestone_issues::MilestoneWithIssues;

use super::label::{LabelChip, LabelChips};
use super::milestone_list::{DueDate, Progress, due_date};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "planning/milestone.html")]
pub struct MilestonePage {
    pub layout: Layout,
    pub url: String,
    pub abilities: Abilities,
    pub title: String,
    pub is_closed: bool,
    pub description: Option<Prose>,
    pub start: Option<String>,
    pub due: Option<DueDate>,
    pub updated: Time,
    pub progress: Progress,
    pub open_issues: i64,
    /// Whether the list shows the closed issues.
    pub shows_closed: bool,
    pub issues: Vec<MilestoneIssue>,
    pub pages: Pages,
}

/// An issue of a milestone.
#[derive(Clone, Debug)]
pub struct MilestoneIssue {
    pub url: String,
    pub iid: i64,
    pub title: String,
    pub is_confidential: bool,
    pub labels: Vec<LabelChip>,
    pub assignee: Option<Person>,
    pub updated: Time,
}

/// Builds the page of a milestone with its open or closed issues. `render` turns Markdown into sanitized HTML.
pub fn milestone_page(
    layout: Layout,
    found: &MilestoneWithIssues,
    abilities: Abilities,
    shows_closed: bool,
    render: impl Fn(&str) -> Option<String>,
    now: DateTime<Utc>,
) -> MilestonePage {
    let MilestoneWithIssues { project, milestone: counted, issues, labels } = found;
    let milestone = &counted.milestone;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("{} · Milestones · {}", milestone.title, project.full_path());
    let chips = LabelChips::new(labels, &links);
    let issue = |issue: &Issue| MilestoneIssue {
        url: links.issue(issue.iid),
        iid: issue.iid,
        title: issue.title.clone(),
        is_confidential: issue.confidential,
        labels: chips.chips(&issue.labels),
        assignee: issue.assignee.as_ref().map(Person::from_user),
        updated: Time::age(issue.updated_at, now),
    };
    let url = links.milestone(milestone.iid);
    let state = ("state", if shows_closed { "closed" } else { "" });
    MilestonePage {
        layout,
        abilities,
        title: milestone.title.clone(),
        is_closed: milestone.closed,
        description: milestone.description.as_deref().and_then(|text| Prose::new(text, render(text))),
        start: milestone.start_date.map(words::date),
        due: due_date(counted, now),
        updated: Time::ago(milestone.updated_at, now),
        progress: Progress::new(counted),
        open_issues: counted.open_issues,
        shows_closed,
        issues: issues.items.iter().map(issue).collect(),
        pages: Pages::new(issues, &url, &[state]),
        url,
    }
}

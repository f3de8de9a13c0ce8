//! The list of milestones of a project.

use askama::Template;
use chrono::{DateTime, NaiveDate, Utc};
use holdfast_app::planning::milestone_issues::{CountedMilestone, ProjectMilestones};

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, ProjectLinks};
use crate::words;

#[derive(Template)]
#[template(path = "planning/milestones.html")]
pub struct MilestonesPage {
    pub layout: Layout,
    pub links: ProjectLinks,
    pub abilities: Abilities,
    pub is_closed: bool,
    pub milestones: Vec<MilestoneRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct MilestoneRow {
    pub url: String,
    pub title: String,
    pub due: Option<DueDate>,
    pub progress: Progress,
}

/// The day on which something has to be done.
#[derive(Clone, Debug)]
pub struct DueDate {
    pub text: String,
    /// Whether the day has passed, and it is not done.
    pub is_late: bool,
}

impl DueDate {
    /// Creates the due date of something that is open.
    pub fn of_open(date: NaiveDate, now: DateTime<Utc>) -> Self {
        Self { text: words::date(date), is_late: date < now.date_naive() }
    }

    /// Creates the due date of something that is closed, which cannot be late.
    pub fn of_closed(date: NaiveDate) -> Self {
        Self { text: words::date(date), is_late: false }
    }
}

/// How many issues of a milestone are closed.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub closed: i64,
    pub total: i64,
    /// Whether only the first issues were counted, so that the share of closed ones is not known.
    pub is_partial: bool,
}

impl Progress {
    pub fn new(milestone: &CountedMilestone) -> Self {
        let CountedMilestone { open_issues, closed_issues, is_partial, .. } = *milestone;
        Self { closed: closed_issues, total: open_issues + closed_issues, is_partial }
    }

    /// Returns the maximum of the progress bar, which must not be 0.
    pub fn maximum(&self) -> i64 {
        self.total.max(1)
    }

    /// Returns the progress as text, such as `3 of 5 issues closed`, or `at least 1,000 issues`.
    pub fn text(&self) -> String {
        match self.total {
            0 => "No issues".to_owned(),
            total if self.is_partial => format!("at least {}", words::issues(total)),
            total => format!("{} of {} closed", words::number(self.closed), words::issues(total)),
        }
    }
}

/// Returns the due date of a milestone, if it has one.
pub fn due_date(milestone: &CountedMilestone, now: DateTime<Utc>) -> Option<DueDate> {
    let date = milestone.milestone.due_date?;
    Some(if milestone.milestone.closed { DueDate::of_closed(date) } else { DueDate::of_open(date, now) })
}

/// Builds the list of milestones.
pub fn milestones_page(
    layout: Layout,
    found: &ProjectMilestones,
    abilities: Abilities,
    is_closed: bool,
    now: DateTime<Utc>,
) -> MilestonesPage {
    let ProjectMilestones { project, milestones } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Milestones · {}", project.full_path());
    let row = |milestone: &CountedMilestone| MilestoneRow {
        url: links.milestone(milestone.milestone.iid),
        title: milestone.milestone.title.clone(),
        due: due_date(milestone, now),
        progress: Progress::new(milestone),
    };
    let rows = milestones.items.iter().map(row).collect();
    let state = ("state", if is_closed { "closed" } else { "" });
    let pages = Pages::new(milestones, &links.milestones(), &[state]);
    MilestonesPage { layout, links, abilities, is_closed, milestones: rows, pages }
}

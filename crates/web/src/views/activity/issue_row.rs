//! An issue as a row of a list over several projects.

use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_domain::planning::IssueState;

use crate::views::ProjectLinks;
use crate::words::{self, Time};

#[derive(Clone, Debug)]
pub struct OwnIssueRow {
    pub url: String,
    pub project_url: String,
    /// The path of the project, with its namespace.
    pub project: String,
    pub iid: i64,
    pub title: String,
    pub is_closed: bool,
    pub is_confidential: bool,
    pub due_date: Option<String>,
    pub note_count: i64,
    pub created: Time,
}

impl OwnIssueRow {
    pub fn new(issue: &Issue, now: DateTime<Utc>) -> Self {
        let links = ProjectLinks::new(&issue.project_path);
        Self {
            url: links.issue(issue.iid),
            project_url: links.home().to_owned(),
            project: issue.project_path.clone(),
            iid: issue.iid,
            title: issue.title.clone(),
            is_closed: issue.state == IssueState::Closed,
            is_confidential: issue.confidential,
            due_date: issue.due_date.map(words::date),
            note_count: issue.notes_count.into(),
            created: Time::age(issue.created_at, now),
        }
    }
}

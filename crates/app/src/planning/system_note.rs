//! The texts of system notes on issues and merge requests.

use holdfast_domain::planning::IssueState;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::milestone::Milestone;

/// The attributes that issues and merge requests have in common.
#[derive(Clone, Copy)]
pub(crate) struct CommonAttributes<'a> {
    pub title: &'a str,
    pub description: Option<&'a str>,
    pub assignee: Option<&'a UserSummary>,
    pub milestone: Option<&'a Milestone>,
}

impl<'a> From<&'a Issue> for CommonAttributes<'a> {
    fn from(issue: &'a Issue) -> Self {
        Self {
            title: &issue.title,
            description: issue.description.as_deref(),
            assignee: issue.assignee.as_ref(),
            milestone: issue.milestone.as_ref(),
        }
    }
}

/// Returns the texts about an update of the common attributes and of the labels, one for each changed attribute.
pub(crate) fn for_common_attributes(
    before: CommonAttributes<'_>,
    after: CommonAttributes<'_>,
    added: &[String],
    removed: &[String],
) -> Vec<String> {
    let mut notes = Vec::new();
    if before.title != after.title {
        notes.push(format!("changed title from **{}** to **{}**", before.title, after.title));
    }
    if before.description != after.description {
        notes.push("changed the description".into());
    }
    let names = |labels: &[String]| labels.iter().map(|title| format!("~\"{title}\"")).collect::<Vec<_>>().join(" ");
    if !added.is_empty() {
        notes.push(format!("added {}", names(added)));
    }
    if !removed.is_empty() {
        notes.push(format!("removed {}", names(removed)));
    }
    let username = |it: CommonAttributes<'_>| it.assignee.map(|assignee| assignee.username.clone());
    if username(before) != username(after) {
        notes.push(match username(after) {
            Some(username) => format!("assigned to @{username}"),
            None => "removed the assignee".into(),
        });
    }
    let milestone = |it: CommonAttributes<'_>| it.milestone.map(|milestone| milestone.title.clone());
    if milestone(before) != milestone(after) {
        notes.push(match milestone(after) {
            Some(title) => format!("changed milestone to %\"{title}\""),
            None => "removed the milestone".into(),
        });
    }
    notes
}

/// Returns the texts of the system notes about an update of an issue, one for each changed attribute.
pub(super) fn for_update(
    before: &Issue,
    after: &Issue,
    added: &[String],
    removed: &[String],
    commit: Option<&str>,
) -> Vec<String> {
    let mut notes = for_common_attributes(before.into(), after.into(), added, removed);
    if before.confidential != after.confidential {
        let visibility = if after.confidential { "confidential" } else { "visible to everyone" };
        notes.push(format!("made the issue {visibility}"));
    }
    if before.due_date != after.due_date {
        notes.push(match after.due_date {
            Some(date) => format!("changed due date to {date}"),
            None => "removed the due date".into(),
        });
    }
    if before.state != after.state {
        notes.push(match (after.state, commit) {
            (IssueState::Closed, Some(commit)) => format!("closed via commit {commit}"),
            (IssueState::Closed, None) => "closed".into(),
            (IssueState::Opened | IssueState::Reopened, _) => "reopened".into(),
        });
    }
    notes
}

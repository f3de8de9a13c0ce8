//! The texts of system notes on issues.

use holdfast_domain::planning::IssueState;
use holdfast_store::planning::issue::Issue;

/// Returns the texts of the system notes about an update, one for each changed attribute.
pub fn for_update(
    before: &Issue,
    after: &Issue,
    added: &[String],
    removed: &[String],
    commit: Option<&str>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if before.title != after.title {
        notes.push(format!("changed title from **{}** to **{}**", before.title, after.title));
    }
    if before.description != after.description {
        notes.push("changed the description".into());
    }
    if before.confidential != after.confidential {
        let visibility = if after.confidential { "confidential" } else { "visible to everyone" };
        notes.push(format!("made the issue {visibility}"));
    }
    let names = |labels: &[String]| labels.iter().map(|title| format!("~\"{title}\"")).collect::<Vec<_>>().join(" ");
    if !added.is_empty() {
        notes.push(format!("added {}", names(added)));
    }
    if !removed.is_empty() {
        notes.push(format!("removed {}", names(removed)));
    }
    let username = |issue: &Issue| issue.assignee.as_ref().map(|it| it.username.clone());
    if username(before) != username(after) {
        notes.push(match username(after) {
            Some(username) => format!("assigned to @{username}"),
            None => "removed the assignee".into(),
        });
    }
    let milestone = |issue: &Issue| issue.milestone.as_ref().map(|it| it.title.clone());
    if milestone(before) != milestone(after) {
        notes.push(match milestone(after) {
            Some(title) => format!("changed milestone to %\"{title}\""),
            None => "removed the milestone".into(),
        });
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

//! What the service says beneath an issue.

use holdfast_domain::planning::IssueState;
use holdfast_store::planning::issue::Issue;

/// What the service says of a change, one remark for each thing that changed.
pub fn of_change(
    before: &Issue,
    after: &Issue,
    given: &[String],
    taken: &[String],
    commit: Option<&str>,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if before.title != after.title {
        remarks.push(format!("changed title from **{}** to **{}**", before.title, after.title));
    }
    if before.description != after.description {
        remarks.push("changed the description".into());
    }
    if before.confidential != after.confidential {
        let now = if after.confidential { "confidential" } else { "visible to everyone" };
        remarks.push(format!("made the issue {now}"));
    }
    let names = |labels: &[String]| labels.iter().map(|title| format!("~\"{title}\"")).collect::<Vec<_>>().join(" ");
    if !given.is_empty() {
        remarks.push(format!("added {}", names(given)));
    }
    if !taken.is_empty() {
        remarks.push(format!("removed {}", names(taken)));
    }
    let username = |issue: &Issue| issue.assignee.as_ref().map(|it| it.username.clone());
    if username(before) != username(after) {
        remarks.push(match username(after) {
            Some(username) => format!("assigned to @{username}"),
            None => "removed the assignee".into(),
        });
    }
    let milestone = |issue: &Issue| issue.milestone.as_ref().map(|it| it.title.clone());
    if milestone(before) != milestone(after) {
        remarks.push(match milestone(after) {
            Some(title) => format!("changed milestone to %\"{title}\""),
            None => "removed the milestone".into(),
        });
    }
    if before.due_date != after.due_date {
        remarks.push(match after.due_date {
            Some(date) => format!("changed due date to {date}"),
            None => "removed the due date".into(),
        });
    }
    if before.state != after.state {
        remarks.push(match (after.state, commit) {
            (IssueState::Closed, Some(commit)) => format!("closed via commit {commit}"),
            (IssueState::Closed, None) => "closed".into(),
            (IssueState::Opened | IssueState::Reopened, _) => "reopened".into(),
        });
    }
    remarks
}

//! What is told of issues: facts as they were at that moment, and remarks beneath the issue.

use holdfast_domain::planning::IssueState;
use holdfast_store::accounts::user::Person;
use holdfast_store::activity::event::Notice;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::note::Note;
use holdfast_store::projects::project::Project;
use serde_json::{Value, json};

use crate::repository::push_details::project_facts;

pub fn issue(project: &Project, user: &Person, issue: &Issue, action: &str) -> Notice {
    let mut payload = facts(project, user, issue);
    payload["action"] = action.into();
    Notice { kind: "issue", payload }
}

pub fn note(project: &Project, user: &Person, issue: &Issue, note: &Note) -> Notice {
    let mut payload = facts(project, user, issue);
    payload["note"] = json!({
        "id": note.id,
        "body": note.body,
        "author_id": note.author.id,
        "created_at": note.created_at,
        "updated_at": note.updated_at,
    });
    Notice { kind: "note", payload }
}

fn person(person: &Person) -> Value {
    json!({ "id": person.id, "name": person.name, "username": person.username, "email": person.email })
}

fn facts(project: &Project, user: &Person, issue: &Issue) -> Value {
    json!({
        "user": person(user),
        "project": project_facts(project),
        "issue": {
            "id": issue.id,
            "iid": issue.iid,
            "title": issue.title,
            "description": issue.description,
            "state": issue.state.word(),
            "confidential": issue.confidential,
            "due_date": issue.due_date,
            "author_id": issue.author.id,
            "assignee": issue.assignee.as_ref().map(person),
            "milestone_id": issue.milestone.as_ref().map(|it| it.id),
            "labels": issue.labels,
            "moved_to_id": issue.moved_to_id,
            "created_at": issue.created_at,
            "updated_at": issue.updated_at,
        },
    })
}

/// What the service says of a change, one remark for each thing that changed.
pub fn remarks(before: &Issue, after: &Issue, given: &[String], taken: &[String], commit: Option<&str>) -> Vec<String> {
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

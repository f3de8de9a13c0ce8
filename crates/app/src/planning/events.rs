//! Outbox events about issues and notes, with the data of the moment at which they happened.

use holdfast_domain::hooks::EventKind;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::activity::event::OutboxEvent;
use holdfast_store::merge_requests::merge_request::MergeRequest;
use holdfast_store::planning::issue::Issue;
use holdfast_store::planning::note::Note;
use holdfast_store::projects::project::Project;
use serde_json::{Value, json};

use crate::events::{format_time, merge_request_json, project_json, user_json};

pub fn issue_event(project: &Project, user: &UserSummary, issue: &Issue, action: &str) -> OutboxEvent {
    let mut payload = issue_json(project, user, issue);
    payload["action"] = action.into();
    OutboxEvent { kind: if issue.confidential { EventKind::ConfidentialIssue } else { EventKind::Issue }, payload }
}

pub fn note_event(project: &Project, user: &UserSummary, issue: &Issue, note: &Note) -> OutboxEvent {
    let mut payload = issue_json(project, user, issue);
    payload["note"] = note_json(note);
    OutboxEvent { kind: if issue.confidential { EventKind::ConfidentialNote } else { EventKind::Note }, payload }
}

/// Returns the event of a note on a merge request. `source` is the project of the source branch.
pub fn merge_request_note_event(
    project: &Project,
    source: Option<&Project>,
    user: &UserSummary,
    request: &MergeRequest,
    note: &Note,
) -> OutboxEvent {
    let mut payload = merge_request_json(project, source, user, request);
    payload["note"] = note_json(note);
    OutboxEvent { kind: EventKind::Note, payload }
}

fn note_json(note: &Note) -> Value {
    json!({
        "id": note.id,
        "body": note.body,
        "author_id": note.author.id,
        "created_at": format_time(note.created_at),
        "updated_at": format_time(note.updated_at),
    })
}

fn issue_json(project: &Project, user: &UserSummary, issue: &Issue) -> Value {
    json!({
        "user": user_json(user),
        "project": project_json(project),
        "issue": {
            "id": issue.id,
            "iid": issue.iid,
            "title": issue.title,
            "description": issue.description,
            "state": issue.state.as_str(),
            "confidential": issue.confidential,
            "due_date": issue.due_date,
            "author_id": issue.author.id,
            "assignee": issue.assignee.as_ref().map(user_json),
            "milestone_id": issue.milestone.as_ref().map(|it| it.id),
            "labels": issue.labels,
            "moved_to_id": issue.moved_to_id,
            "created_at": format_time(issue.created_at),
            "updated_at": format_time(issue.updated_at),
        },
    })
}

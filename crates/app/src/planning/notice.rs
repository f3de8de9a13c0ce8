//! What is told of issues: facts as they were at that moment.

use holdfast_domain::hooks::Kind;
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
    Notice { kind: if issue.confidential { Kind::ConfidentialIssue } else { Kind::Issue }, payload }
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
    Notice { kind: if issue.confidential { Kind::ConfidentialNote } else { Kind::Note }, payload }
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

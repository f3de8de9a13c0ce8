//! Bodies of events of issues and of notes on issues, merge requests and commits.

use holdfast_domain::InstanceUrls;
use holdfast_store::hooks::stored_event::StoredEvent;
use serde_json::{Value, json};

use super::{ProjectUrls, merge_request, project, repository, user};
use crate::{App, Result};

pub(super) fn issue(payload: &Value, site: &InstanceUrls) -> Value {
    let urls = ProjectUrls::new(&payload["project"], site);
    let mut attributes = attributes(payload);
    attributes["url"] = urls.issue(&payload["issue"]["iid"]).into();
    attributes["action"] = payload["action"].clone();
    let mut body = json!({
        "object_kind": "issue",
        "user": user(&payload["user"], site),
        "project": project(&payload["project"], &urls),
        "object_attributes": attributes,
        "repository": repository(&payload["project"], &urls),
    });
    if payload["issue"]["assignee"].is_object() {
        body["assignee"] = user(&payload["issue"]["assignee"], site);
    }
    body
}

pub(super) async fn note(app: &App, event: &StoredEvent) -> Result<Value> {
    let (payload, site) = (&event.payload, &app.settings.site);
    let urls = ProjectUrls::new(&payload["project"], site);
    let note = &payload["note"];
    let mut body = note_body(payload, &urls, site);
    if payload["commit"].is_object() {
        let commit_url = urls.commit(&payload["commit"]["id"]);
        let attributes = &mut body["object_attributes"];
        attributes["noteable_type"] = "Commit".into();
        attributes["noteable_id"] = Value::Null;
        attributes["commit_id"] = payload["commit"]["id"].clone();
        attributes["line_code"] = note["line_code"].clone();
        attributes["url"] = format!("{commit_url}#note_{}", note["id"]).into();
        body["commit"] = payload["commit"].clone();
        body["commit"]["url"] = commit_url.into();
    } else if payload["merge_request"].is_object() {
        let url = urls.merge_request(&payload["merge_request"]["iid"]);
        let attributes = &mut body["object_attributes"];
        attributes["noteable_type"] = "MergeRequest".into();
        attributes["noteable_id"] = payload["merge_request"]["id"].clone();
        attributes["url"] = format!("{url}#note_{}", note["id"]).into();
        body["merge_request"] = merge_request::attributes(app, event).await?;
    } else {
        body["issue"] = attributes(payload);
    }
    Ok(body)
}

/// Returns what the bodies of all notes have, as for a note of an issue.
fn note_body(payload: &Value, urls: &ProjectUrls<'_>, site: &InstanceUrls) -> Value {
    let note = &payload["note"];
    json!({
        "object_kind": "note",
        "user": user(&payload["user"], site),
        "project_id": payload["project"]["id"],
        "project": project(&payload["project"], urls),
        "object_attributes": {
            "id": note["id"],
            "note": note["body"],
            "noteable_type": "Issue",
            "author_id": note["author_id"],
            "created_at": note["created_at"],
            "updated_at": note["updated_at"],
            "project_id": payload["project"]["id"],
            "attachment": null,
            "line_code": null,
            "commit_id": "",
            "noteable_id": payload["issue"]["id"],
            "system": false,
            "st_diff": null,
            "updated_by_id": null,
            "type": null,
            "position": null,
            "original_position": null,
            "resolved_at": null,
            "resolved_by_id": null,
            "discussion_id": null,
            "original_discussion_id": null,
            "url": urls.issue_note(&payload["issue"]["iid"], &note["id"]),
        },
        "repository": repository(&payload["project"], urls),
    })
}

fn attributes(payload: &Value) -> Value {
    let issue = &payload["issue"];
    json!({
        "id": issue["id"],
        "title": issue["title"],
        "assignee_id": issue["assignee"]["id"],
        "author_id": issue["author_id"],
        "project_id": payload["project"]["id"],
        "created_at": issue["created_at"],
        "updated_at": issue["updated_at"],
        "position": 0,
        "branch_name": null,
        "description": issue["description"],
        "milestone_id": issue["milestone_id"],
        "state": issue["state"],
        "iid": issue["iid"],
        "updated_by_id": null,
        "confidential": issue["confidential"],
        "deleted_at": null,
        "due_date": issue["due_date"],
        "moved_to_id": issue["moved_to_id"],
        "lock_version": 0,
    })
}

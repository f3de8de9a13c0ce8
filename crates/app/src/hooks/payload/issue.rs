use holdfast_domain::Site;
use serde_json::{Value, json};

use super::{Addresses, project, repository, user};

pub(super) fn issue(facts: &Value, site: &Site) -> Value {
    let at = Addresses::of(&facts["project"], site);
    let mut attributes = attributes(facts);
    attributes["url"] = url(facts, &at).into();
    attributes["action"] = facts["action"].clone();
    let mut body = json!({
        "object_kind": "issue",
        "user": user(&facts["user"], site),
        "project": project(&facts["project"], &at),
        "object_attributes": attributes,
        "repository": repository(&facts["project"], &at),
    });
    if facts["issue"]["assignee"].is_object() {
        body["assignee"] = user(&facts["issue"]["assignee"], site);
    }
    body
}

pub(super) fn note(facts: &Value, site: &Site) -> Value {
    let at = Addresses::of(&facts["project"], site);
    let note = &facts["note"];
    json!({
        "object_kind": "note",
        "user": user(&facts["user"], site),
        "project_id": facts["project"]["id"],
        "project": project(&facts["project"], &at),
        "object_attributes": {
            "id": note["id"],
            "note": note["body"],
            "noteable_type": "Issue",
            "author_id": note["author_id"],
            "created_at": note["created_at"],
            "updated_at": note["updated_at"],
            "project_id": facts["project"]["id"],
            "attachment": null,
            "line_code": null,
            "commit_id": "",
            "noteable_id": facts["issue"]["id"],
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
            "url": format!("{}#note_{}", url(facts, &at), note["id"]),
        },
        "repository": repository(&facts["project"], &at),
        "issue": attributes(facts),
    })
}

fn url(facts: &Value, at: &Addresses) -> String {
    format!("{}/issues/{}", at.home, facts["issue"]["iid"])
}

fn attributes(facts: &Value) -> Value {
    let issue = &facts["issue"];
    json!({
        "id": issue["id"],
        "title": issue["title"],
        "assignee_id": issue["assignee"]["id"],
        "author_id": issue["author_id"],
        "project_id": facts["project"]["id"],
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

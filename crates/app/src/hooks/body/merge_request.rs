//! Bodies of events of merge requests, with the last commit from the repository.

use holdfast_domain::InstanceUrls;
use holdfast_git::ObjectId;
use holdfast_store::hooks::stored_event::StoredEvent;
use serde_json::{Value, json};

use super::push::or_default;
use super::{ProjectUrls, project, repository, user};
use crate::repository::refs::push_event_details;
use crate::{App, Result};

pub(super) async fn merge_request(app: &App, event: &StoredEvent) -> Result<Value> {
    let (payload, site) = (&event.payload, &app.settings.site);
    let urls = ProjectUrls::new(&payload["project"], site);
    let mut attributes = attributes(app, event).await?;
    attributes["url"] = urls.merge_request(&payload["merge_request"]["iid"]).into();
    attributes["action"] = payload["action"].clone();
    if payload["oldrev"].is_string() {
        attributes["oldrev"] = payload["oldrev"].clone();
    }
    let mut body = json!({
        "object_kind": "merge_request",
        "user": user(&payload["user"], site),
        "project": project(&payload["project"], &urls),
        "object_attributes": attributes,
        "repository": repository(&payload["project"], &urls),
    });
    let assignee = &payload["merge_request"]["assignee"];
    if assignee.is_object() {
        body["assignee"] = user(assignee, site);
    }
    Ok(body)
}

/// Returns the merge request of an event. A source project that was deleted is null.
pub(super) async fn attributes(app: &App, event: &StoredEvent) -> Result<Value> {
    let (payload, site) = (&event.payload, &app.settings.site);
    let request = &payload["merge_request"];
    let source = match payload["source"].is_object() {
        true => project_of(&payload["source"], site),
        false => Value::Null,
    };
    Ok(json!({
        "id": request["id"],
        "target_branch": request["target_branch"],
        "source_branch": request["source_branch"],
        "source_project_id": request["source_project_id"],
        "author_id": request["author_id"],
        "assignee_id": request["assignee"]["id"],
        "title": request["title"],
        "created_at": request["created_at"],
        "updated_at": request["updated_at"],
        "milestone_id": request["milestone_id"],
        "state": request["state"],
        "merge_status": request["merge_status"],
        "target_project_id": payload["project"]["id"],
        "iid": request["iid"],
        "description": request["description"],
        "position": 0,
        "locked_at": null,
        "updated_by_id": null,
        "merge_error": null,
        "merge_params": {},
        "merge_when_build_succeeds": request["merge_when_build_succeeds"] == true,
        "merge_user_id": null,
        "merge_commit_sha": request["merge_commit_sha"],
        "deleted_at": null,
        "in_progress_merge_commit_sha": null,
        "lock_version": 0,
        "source": source,
        "target": project_of(&payload["project"], site),
        "last_commit": last_commit(app, event).await?,
        "work_in_progress": request["work_in_progress"],
    }))
}

fn project_of(payload: &Value, site: &InstanceUrls) -> Value {
    project(payload, &ProjectUrls::new(payload, site))
}

async fn last_commit(app: &App, event: &StoredEvent) -> Result<Value> {
    let head = event.payload["merge_request"]["head"].as_str().and_then(|id| id.parse::<ObjectId>().ok());
    let (Some(project), Some(head)) = (event.project_id, head) else { return Ok(Value::Null) };
    let found = push_event_details::commit_details(app, project.into(), head).await;
    let Some(mut commit) = or_default(app, event, found)? else { return Ok(Value::Null) };
    let urls = ProjectUrls::new(&event.payload["project"], &app.settings.site);
    commit["url"] = urls.commit(&commit["id"]).into();
    Ok(commit)
}

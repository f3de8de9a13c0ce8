//! Bodies of push and tag push events, with details from the repository.

use std::collections::HashMap;

use chrono::TimeDelta;
use holdfast_git::ObjectId;
use holdfast_store::hooks::stored_event::StoredEvent;
use serde_json::{Value, json};

use super::{ProjectUrls, full_repository, project};
use crate::repository::refs::push_event_details;
use crate::{App, Error, Result};

pub(super) async fn push(app: &App, event: &StoredEvent, is_project_hook: bool) -> Result<Value> {
    let payload = &event.payload;
    let mut body = common(app, event, "push");
    if is_project_hook {
        let commits = payload["commits"].as_array().cloned().unwrap_or_default();
        body["commits"] = with_paths(app, event, commits).await?;
        body["total_commits_count"] = payload["total_commits_count"].clone();
    }
    Ok(body)
}

pub(super) async fn tag_push(app: &App, event: &StoredEvent, is_project_hook: bool) -> Result<Value> {
    let mut body = common(app, event, "tag_push");
    if !is_project_hook {
        body["message"] = "".into();
        return Ok(body);
    }
    let id = |field: &str| event.payload[field].as_str().and_then(|id| id.parse::<ObjectId>().ok());
    if let (Some(tag), Some(object), Some(project)) = (id("after"), id("checkout_sha"), event.project_id) {
        let found = push_event_details::tag_details(app, project.into(), tag, object).await;
        let (message, commit) = or_default(app, event, found)?;
        let commits: Vec<Value> = commit.into_iter().collect();
        body["message"] = message.into();
        body["total_commits_count"] = commits.len().into();
        body["commits"] = with_paths(app, event, commits).await?;
    }
    Ok(body)
}

/// Returns the fields that do not depend on the repository, with an empty list of commits.
fn common(app: &App, event: &StoredEvent, kind: &str) -> Value {
    let payload = &event.payload;
    let urls = ProjectUrls::new(&payload["project"], &app.settings.site);
    let repository = full_repository(&payload["project"], &urls);
    json!({
        "object_kind": kind,
        "event_name": kind,
        "before": payload["before"],
        "after": payload["after"],
        "ref": payload["ref"],
        "checkout_sha": payload["checkout_sha"],
        "message": null,
        "user_id": payload["user_id"],
        "user_name": payload["user_name"],
        "user_email": payload["user_email"],
        "user_avatar": app.settings.site.avatar_url(payload["user_email"].as_str().unwrap_or_default()),
        "project_id": payload["project"]["id"],
        "project": project(&payload["project"], &urls),
        "commits": [],
        "total_commits_count": 0,
        "repository": repository,
    })
}

/// Adds URLs and changed paths to the commits.
async fn with_paths(app: &App, event: &StoredEvent, mut commits: Vec<Value>) -> Result<Value> {
    let id = |commit: &Value| commit["id"].as_str().and_then(|id| id.parse::<ObjectId>().ok());
    let ids: Vec<ObjectId> = commits.iter().filter_map(id).collect();
    let mut paths = match event.project_id {
        Some(project) if !ids.is_empty() => {
            or_default(app, event, push_event_details::changed_paths(app, project.into(), ids).await)?
        }
        _ => HashMap::new(),
    };
    let urls = ProjectUrls::new(&event.payload["project"], &app.settings.site);
    for commit in &mut commits {
        let paths = id(commit).and_then(|id| paths.remove(&id)).unwrap_or_default();
        commit["url"] = urls.commit(&commit["id"]).into();
        commit["added"] = paths.added.into();
        commit["modified"] = paths.modified.into();
        commit["removed"] = paths.removed.into();
    }
    Ok(commits.into())
}

/// How long an event waits for a repository that cannot be read, as while the object store is down. After that the
/// delivery is sent without the details, so that later deliveries are not held up any longer. The hour is arbitrary.
const UNREADABLE_REPOSITORY_TIMEOUT: TimeDelta = TimeDelta::hours(1);

/// Returns the details, or none of them if the project has been deleted or its repository cannot be read for too long.
/// Any other error, such as a full disk, is returned, and the delivery is tried again later.
pub(super) fn or_default<T: Default>(app: &App, event: &StoredEvent, found: Result<T>) -> Result<T> {
    let is_old = app.clock.now() - event.created_at > UNREADABLE_REPOSITORY_TIMEOUT;
    match found {
        Err(Error::NotFound(_)) => Ok(T::default()),
        Err(error @ (Error::Git(_) | Error::Internal(_))) if is_old => {
            tracing::warn!(%error, "event sent without repository details");
            Ok(T::default())
        }
        other => other,
    }
}

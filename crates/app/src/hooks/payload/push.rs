use std::collections::HashMap;

use chrono::TimeDelta;
use holdfast_git::ObjectId;
use holdfast_store::hooks::delivery::Told;
use serde_json::{Value, json};

use super::{Addresses, project, whole_repository};
use crate::repository::told;
use crate::{App, Error, Result};

pub(super) async fn push(app: &App, told: &Told, is_of_project: bool) -> Result<Value> {
    let facts = &told.payload;
    let mut body = common(app, told, "push");
    if is_of_project {
        let commits = facts["commits"].as_array().cloned().unwrap_or_default();
        body["commits"] = with_paths(app, told, commits).await?;
        body["total_commits_count"] = facts["total_commits_count"].clone();
    }
    Ok(body)
}

pub(super) async fn tag_push(app: &App, told: &Told, is_of_project: bool) -> Result<Value> {
    let mut body = common(app, told, "tag_push");
    if !is_of_project {
        body["message"] = "".into();
        return Ok(body);
    }
    let id = |field: &str| told.payload[field].as_str().and_then(|id| id.parse::<ObjectId>().ok());
    if let (Some(tag), Some(object), Some(project)) = (id("after"), id("checkout_sha"), told.project_id) {
        let found = told::tag(app, project.into(), tag, object).await;
        let (message, commit) = or_nothing(app, told, found)?;
        let commits: Vec<Value> = commit.into_iter().collect();
        body["message"] = message.into();
        body["total_commits_count"] = commits.len().into();
        body["commits"] = with_paths(app, told, commits).await?;
    }
    Ok(body)
}

/// Without commits.
fn common(app: &App, told: &Told, kind: &str) -> Value {
    let facts = &told.payload;
    let at = Addresses::of(&facts["project"], &app.settings.site);
    let repository = whole_repository(&facts["project"], &at);
    json!({
        "object_kind": kind,
        "event_name": kind,
        "before": facts["before"],
        "after": facts["after"],
        "ref": facts["ref"],
        "checkout_sha": facts["checkout_sha"],
        "message": null,
        "user_id": facts["user_id"],
        "user_name": facts["user_name"],
        "user_email": facts["user_email"],
        "user_avatar": app.settings.site.avatar(facts["user_email"].as_str().unwrap_or_default()),
        "project_id": facts["project"]["id"],
        "project": project(&facts["project"], &at),
        "commits": [],
        "total_commits_count": 0,
        "repository": repository,
    })
}

/// Commits with their addresses, and with the files they changed.
async fn with_paths(app: &App, told: &Told, mut commits: Vec<Value>) -> Result<Value> {
    let id = |commit: &Value| commit["id"].as_str().and_then(|id| id.parse::<ObjectId>().ok());
    let ids: Vec<ObjectId> = commits.iter().filter_map(id).collect();
    let mut paths = match told.project_id {
        Some(project) if !ids.is_empty() => or_nothing(app, told, told::changed_paths(app, project.into(), ids).await)?,
        _ => HashMap::new(),
    };
    let home = Addresses::of(&told.payload["project"], &app.settings.site).home;
    for commit in &mut commits {
        let paths = id(commit).and_then(|id| paths.remove(&id)).unwrap_or_default();
        commit["url"] = format!("{home}/commit/{}", commit["id"].as_str().unwrap_or_default()).into();
        commit["added"] = paths.added.into();
        commit["modified"] = paths.modified.into();
        commit["removed"] = paths.removed.into();
    }
    Ok(commits.into())
}

/// What is wrong with a repository for longer will not be better later.
const PATIENCE: TimeDelta = TimeDelta::hours(1);

/// The project may be gone by now: then that is told which was written down. Whatever else is wrong passes, as a full disk
/// does: it is told later, as it was.
fn or_nothing<T: Default>(app: &App, told: &Told, found: Result<T>) -> Result<T> {
    let is_old = app.clock.now() - told.created_at > PATIENCE;
    match found {
        Err(Error::NotFound(_)) => Ok(T::default()),
        Err(error @ (Error::Git(_) | Error::Internal(_))) if is_old => {
            tracing::warn!(%error, "a push is told of without what is in its repository");
            Ok(T::default())
        }
        other => other,
    }
}

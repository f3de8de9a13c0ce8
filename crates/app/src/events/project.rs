//! Events about projects.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::hooks::EventKind;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::activity::event::OutboxEvent;
use holdfast_store::projects::project::Project;
use serde_json::{Value, json};

use super::format_time;

fn project_payload(project: &Project) -> Value {
    let owner = project.owner().map(|owner| owner.summary);
    json!({
        "created_at": format_time(project.created_at),
        "updated_at": format_time(project.updated_at),
        "project_id": project.id,
        "name": project.name,
        "path": project.path,
        "path_with_namespace": project.full_path(),
        "project_visibility": project.visibility.as_str(),
        "owner_name": owner.as_ref().map_or(&project.namespace.name, |owner| &owner.name),
        "owner_email": owner.as_ref().map_or("", |owner| &owner.email),
    })
}

pub fn project_created(project: &Project) -> OutboxEvent {
    OutboxEvent { kind: EventKind::ProjectCreate, payload: project_payload(project) }
}

pub fn project_destroyed(project: &Project) -> OutboxEvent {
    OutboxEvent { kind: EventKind::ProjectDestroy, payload: project_payload(project) }
}

fn path_change_event(kind: EventKind, project: &Project, old_path: &str) -> OutboxEvent {
    let mut payload = project_payload(project);
    payload["old_path_with_namespace"] = old_path.into();
    OutboxEvent { kind, payload }
}

pub fn project_renamed(project: &Project, old_path: &str) -> OutboxEvent {
    path_change_event(EventKind::ProjectRename, project, old_path)
}

pub fn project_transferred(project: &Project, old_path: &str) -> OutboxEvent {
    path_change_event(EventKind::ProjectTransfer, project, old_path)
}

fn membership_event(
    kind: EventKind,
    project: &Project,
    user: &UserSummary,
    level: AccessLevel,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> OutboxEvent {
    let payload = json!({
        "created_at": format_time(created_at),
        "updated_at": format_time(now),
        "project_id": project.id,
        "project_name": project.name,
        "project_path": project.path,
        "project_path_with_namespace": project.full_path(),
        "project_visibility": project.visibility.as_str(),
        "user_id": user.id,
        "user_name": user.name,
        "user_username": user.username,
        "user_email": user.email,
        "access_level": level.as_str(),
        // The name of the field in the published example.
        "project_access": level.as_str(),
    });
    OutboxEvent { kind, payload }
}

pub fn member_added(project: &Project, user: &UserSummary, level: AccessLevel, now: DateTime<Utc>) -> OutboxEvent {
    membership_event(EventKind::UserAddToTeam, project, user, level, now, now)
}

/// Returns the event of a membership that ends, by itself or together with its project or its user. `created_at` is the
/// time at which the membership was created.
pub fn member_removed(
    project: &Project,
    user: &UserSummary,
    level: AccessLevel,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> OutboxEvent {
    membership_event(EventKind::UserRemoveFromTeam, project, user, level, created_at, now)
}

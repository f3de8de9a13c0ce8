//! What is told of projects: facts as they were at that moment, since what they are about may be gone when it is read.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::hooks::Kind;
use holdfast_store::accounts::user::Person;
use holdfast_store::activity::event::Notice;
use holdfast_store::projects::project::Project;
use serde_json::{Value, json};

fn facts(project: &Project) -> Value {
    let owner = project.owner().map(|owner| owner.person);
    json!({
        "created_at": project.created_at,
        "updated_at": project.updated_at,
        "project_id": project.id,
        "name": project.name,
        "path": project.path,
        "path_with_namespace": project.full_path(),
        "project_visibility": project.visibility.word(),
        "owner_name": owner.as_ref().map_or(&project.namespace.name, |owner| &owner.name),
        "owner_email": owner.as_ref().map_or("", |owner| &owner.email),
    })
}

pub fn created(project: &Project) -> Notice {
    Notice { kind: Kind::ProjectCreate, payload: facts(project) }
}

pub fn destroyed(project: &Project) -> Notice {
    Notice { kind: Kind::ProjectDestroy, payload: facts(project) }
}

fn with_old_path(kind: Kind, project: &Project, old_path: &str) -> Notice {
    let mut payload = facts(project);
    payload["old_path_with_namespace"] = old_path.into();
    Notice { kind, payload }
}

pub fn renamed(project: &Project, old_path: &str) -> Notice {
    with_old_path(Kind::ProjectRename, project, old_path)
}

pub fn transferred(project: &Project, old_path: &str) -> Notice {
    with_old_path(Kind::ProjectTransfer, project, old_path)
}

fn membership(kind: Kind, project: &Project, user: &Person, level: AccessLevel, now: DateTime<Utc>) -> Notice {
    let payload = json!({
        "created_at": now,
        "updated_at": now,
        "project_id": project.id,
        "project_name": project.name,
        "project_path": project.path,
        "project_path_with_namespace": project.full_path(),
        "project_visibility": project.visibility.word(),
        "user_id": user.id,
        "user_name": user.name,
        "user_username": user.username,
        "user_email": user.email,
        "access_level": level.word(),
        // As the published example calls it.
        "project_access": level.word(),
    });
    Notice { kind, payload }
}

pub fn joined(project: &Project, user: &Person, level: AccessLevel, now: DateTime<Utc>) -> Notice {
    membership(Kind::UserAddToTeam, project, user, level, now)
}

pub fn left(project: &Project, user: &Person, level: AccessLevel, now: DateTime<Utc>) -> Notice {
    membership(Kind::UserRemoveFromTeam, project, user, level, now)
}

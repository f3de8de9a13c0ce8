//! Events about accounts.

use holdfast_domain::hooks::EventKind;
use holdfast_store::accounts::ssh_key::SshKey;
use holdfast_store::accounts::user::User;
use holdfast_store::activity::event::OutboxEvent;
use serde_json::json;

use super::format_time;

fn user_event(kind: EventKind, user: &User) -> OutboxEvent {
    let payload = json!({
        "created_at": format_time(user.created_at),
        "updated_at": format_time(user.updated_at),
        "user_id": user.id,
        "name": user.name,
        "username": user.username,
        "email": user.email,
    });
    OutboxEvent { kind, payload }
}

pub fn user_created(user: &User) -> OutboxEvent {
    user_event(EventKind::UserCreate, user)
}

pub fn user_destroyed(user: &User) -> OutboxEvent {
    user_event(EventKind::UserDestroy, user)
}

fn key_event(kind: EventKind, key: &SshKey, username: &str) -> OutboxEvent {
    let payload = json!({
        "created_at": format_time(key.created_at),
        // A key is never updated, so this is the time of its creation.
        "updated_at": format_time(key.created_at),
        "id": key.id,
        "key": key.key,
        "username": username,
    });
    OutboxEvent { kind, payload }
}

pub fn key_added(key: &SshKey, username: &str) -> OutboxEvent {
    key_event(EventKind::KeyCreate, key, username)
}

pub fn key_removed(key: &SshKey, username: &str) -> OutboxEvent {
    key_event(EventKind::KeyDestroy, key, username)
}

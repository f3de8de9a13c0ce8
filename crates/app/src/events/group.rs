//! Events about groups.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::hooks::EventKind;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::activity::event::OutboxEvent;
use holdfast_store::namespaces::group::Group;
use serde_json::json;

use super::format_time;

fn group_event(kind: EventKind, group: &Group) -> OutboxEvent {
    let payload = json!({
        "created_at": format_time(group.created_at),
        "updated_at": format_time(group.updated_at),
        "group_id": group.id,
        "name": group.name,
        "path": group.path,
        // A group can have several owners of equal rank.
        "owner_name": null,
        "owner_email": null,
    });
    OutboxEvent { kind, payload }
}

pub fn group_created(group: &Group) -> OutboxEvent {
    group_event(EventKind::GroupCreate, group)
}

pub fn group_destroyed(group: &Group) -> OutboxEvent {
    group_event(EventKind::GroupDestroy, group)
}

fn membership_event(
    kind: EventKind,
    group: &Group,
    user: &UserSummary,
    level: AccessLevel,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> OutboxEvent {
    let payload = json!({
        "created_at": format_time(created_at),
        "updated_at": format_time(now),
        "group_id": group.id,
        "group_name": group.name,
        "group_path": group.path,
        "group_access": level.as_str(),
        "user_id": user.id,
        "user_name": user.name,
        "user_username": user.username,
        "user_email": user.email,
    });
    OutboxEvent { kind, payload }
}

pub fn member_added(group: &Group, user: &UserSummary, level: AccessLevel, now: DateTime<Utc>) -> OutboxEvent {
    membership_event(EventKind::UserAddToGroup, group, user, level, now, now)
}

/// Returns the event of a membership that ends, by itself or together with its group or its user. `created_at` is the
/// time at which the membership was created.
pub fn member_removed(
    group: &Group,
    user: &UserSummary,
    level: AccessLevel,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> OutboxEvent {
    membership_event(EventKind::UserRemoveFromGroup, group, user, level, created_at, now)
}

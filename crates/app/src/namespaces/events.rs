//! Outbox events about groups, with the data of the moment at which they happened.

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::EventKind;
use holdfast_store::activity::event::OutboxEvent;
use holdfast_store::namespaces::group::Group;
use holdfast_store::namespaces::member::Member;
use serde_json::json;

fn group_event(kind: EventKind, group: &Group) -> OutboxEvent {
    let payload = json!({
        "created_at": group.created_at,
        "updated_at": group.updated_at,
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

fn membership_event(kind: EventKind, group: &Group, member: &Member, now: DateTime<Utc>) -> OutboxEvent {
    let payload = json!({
        "created_at": now,
        "updated_at": now,
        "group_id": group.id,
        "group_name": group.name,
        "group_path": group.path,
        "group_access": member.access_level.as_str(),
        "user_id": member.user.id,
        "user_name": member.user.name,
        "user_username": member.user.username,
        "user_email": member.user.email,
    });
    OutboxEvent { kind, payload }
}

pub fn member_added(group: &Group, member: &Member, now: DateTime<Utc>) -> OutboxEvent {
    membership_event(EventKind::UserAddToGroup, group, member, now)
}

pub fn member_removed(group: &Group, member: &Member, now: DateTime<Utc>) -> OutboxEvent {
    membership_event(EventKind::UserRemoveFromGroup, group, member, now)
}

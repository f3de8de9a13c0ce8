//! What is told of groups: facts as they were at that moment.

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::Kind;
use holdfast_store::activity::event::Notice;
use holdfast_store::namespaces::group::Group;
use holdfast_store::namespaces::member::Member;
use serde_json::json;

fn group(kind: Kind, group: &Group) -> Notice {
    let payload = json!({
        "created_at": group.created_at,
        "updated_at": group.updated_at,
        "group_id": group.id,
        "name": group.name,
        "path": group.path,
        // A group has many owners, none of them more than another.
        "owner_name": null,
        "owner_email": null,
    });
    Notice { kind, payload }
}

pub fn created(of: &Group) -> Notice {
    group(Kind::GroupCreate, of)
}

pub fn destroyed(of: &Group) -> Notice {
    group(Kind::GroupDestroy, of)
}

fn membership(kind: Kind, group: &Group, member: &Member, now: DateTime<Utc>) -> Notice {
    let payload = json!({
        "created_at": now,
        "updated_at": now,
        "group_id": group.id,
        "group_name": group.name,
        "group_path": group.path,
        "group_access": member.access_level.word(),
        "user_id": member.user.id,
        "user_name": member.user.name,
        "user_username": member.user.username,
        "user_email": member.user.email,
    });
    Notice { kind, payload }
}

pub fn joined(group: &Group, member: &Member, now: DateTime<Utc>) -> Notice {
    membership(Kind::UserAddToGroup, group, member, now)
}

pub fn left(group: &Group, member: &Member, now: DateTime<Utc>) -> Notice {
    membership(Kind::UserRemoveFromGroup, group, member, now)
}

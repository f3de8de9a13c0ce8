//! What is told of accounts: facts as they were at that moment.

use holdfast_domain::hooks::Kind;
use holdfast_store::accounts::ssh_key::SshKey;
use holdfast_store::accounts::user::User;
use holdfast_store::activity::event::Notice;
use serde_json::json;

fn user(kind: Kind, user: &User) -> Notice {
    let payload = json!({
        "created_at": user.created_at,
        "updated_at": user.updated_at,
        "user_id": user.id,
        "name": user.name,
        "username": user.username,
        "email": user.email,
    });
    Notice { kind, payload }
}

pub fn created(of: &User) -> Notice {
    user(Kind::UserCreate, of)
}

pub fn destroyed(of: &User) -> Notice {
    user(Kind::UserDestroy, of)
}

fn key(kind: Kind, key: &SshKey, username: &str) -> Notice {
    let payload = json!({
        "created_at": key.created_at,
        // A key never changes.
        "updated_at": key.created_at,
        "id": key.id,
        "key": key.key,
        "username": username,
    });
    Notice { kind, payload }
}

pub fn key_added(of: &SshKey, username: &str) -> Notice {
    key(Kind::KeyCreate, of, username)
}

pub fn key_removed(of: &SshKey, username: &str) -> Notice {
    key(Kind::KeyDestroy, of, username)
}

//! Presents the SSH public keys of a user.

use holdfast_app::accounts::ssh_key::SshKey;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

#[derive(Serialize, ToSchema)]
pub struct SshKeyBody {
    pub id: i64,
    pub title: String,
    pub key: String,
    pub created_at: Timestamp,
}

pub fn present_ssh_key(key: SshKey) -> SshKeyBody {
    SshKeyBody { id: key.id.get(), title: key.title, key: key.key, created_at: key.created_at.into() }
}

//! Presents the SSH public keys of a user.

use holdfast_app::accounts::ssh_key::SshKey;
use serde::Serialize;
use utoipa::ToSchema;

use crate::present::Timestamp;
use crate::present::ssh_key::{SshKeyBody, present_ssh_key};

/// An SSH public key of a user.
#[derive(Serialize, ToSchema)]
pub struct UserKey {
    #[serde(flatten)]
    pub key: SshKeyBody,
    /// Always null: keys do not expire.
    pub expires_at: Option<Timestamp>,
    /// Always null: the use of keys is not recorded.
    pub last_used_at: Option<Timestamp>,
    pub usage_type: &'static str,
}

pub fn present_key(key: SshKey) -> UserKey {
    UserKey { key: present_ssh_key(key), expires_at: None, last_used_at: None, usage_type: "auth_and_signing" }
}

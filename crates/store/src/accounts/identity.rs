//! Identities of users at external providers.

use holdfast_domain::ids::UserId;
use serde::Deserialize;

use crate::{Connection, Result};

/// An account at an external provider that belongs to a user.
#[derive(Clone, Debug, Deserialize)]
pub struct Identity {
    pub provider: String,
    pub extern_uid: String,
}

/// Sets the identity of a user at a provider, and replaces an existing one.
pub async fn upsert(connection: &mut Connection, user: UserId, identity: &Identity) -> Result<()> {
    sqlx::query!(
        "insert into identities (user_id, provider, extern_uid) values ($1, $2, $3)
         on conflict (user_id, provider) do update set extern_uid = excluded.extern_uid",
        user.get(),
        identity.provider,
        identity.extern_uid,
    )
    .execute(connection)
    .await?;
    Ok(())
}

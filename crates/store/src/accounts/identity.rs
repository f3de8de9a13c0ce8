use holdfast_domain::ids::UserId;
use serde::Deserialize;

use crate::{Connection, Result};

/// An account at an outside provider that belongs to a user here.
#[derive(Clone, Debug, Deserialize)]
pub struct Identity {
    pub provider: String,
    pub extern_uid: String,
}

/// One identity per user and provider: a second one replaces the first.
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

//! Codes with which the operator creates the first user in the browser. Only their digests are stored.
//!
//! Every node that starts without users adds a code of its own, so that each can write one to its log. All of them are
//! deleted with the creation of the first user.

use chrono::{DateTime, Utc};

use crate::{Connection, Result};

/// Returns whether there is a user. The ghost account and bots do not count.
pub async fn users_exist(connection: &mut Connection) -> Result<bool> {
    const QUERY: &str = "select exists (select from users where not bot and not ghost)";
    Ok(sqlx::query_scalar(QUERY).fetch_one(connection).await?)
}

/// Locks the creation of the first user until the end of the transaction.
pub async fn lock_first_user(connection: &mut Connection) -> Result<()> {
    // An arbitrary number that no other advisory lock uses.
    const LOCK: i64 = 7_219_059;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(connection).await?;
    Ok(())
}

/// Inserts a code, and deletes those that were created before the time `created_before`.
pub async fn insert(
    connection: &mut Connection,
    digest: &[u8],
    created_before: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    const QUERY: &str = "with expired as (delete from setup_codes where created_at < $2) \
        insert into setup_codes (digest, created_at) values ($1, $3) on conflict do nothing";
    sqlx::query(QUERY).bind(digest).bind(created_before).bind(now).execute(connection).await?;
    Ok(())
}

/// Returns whether a code with this digest was created after the time `created_after`.
pub async fn exists(connection: &mut Connection, digest: &[u8], created_after: DateTime<Utc>) -> Result<bool> {
    const QUERY: &str = "select exists (select from setup_codes where digest = $1 and created_at > $2)";
    Ok(sqlx::query_scalar(QUERY).bind(digest).bind(created_after).fetch_one(connection).await?)
}

pub async fn delete_all(connection: &mut Connection) -> Result<()> {
    sqlx::query("delete from setup_codes").execute(connection).await?;
    Ok(())
}

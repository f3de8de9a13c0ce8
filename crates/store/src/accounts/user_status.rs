//! What users say about themselves.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::UserId;

use crate::{Connection, Result};

/// The status of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserStatus {
    /// The name of an emoji.
    pub emoji: String,
    pub message: Option<String>,
    pub is_busy: bool,
    /// The time from which the status is not shown. None if it has no end.
    pub clear_at: Option<DateTime<Utc>>,
}

/// Finds the status of a user, unless it has ended.
pub async fn find(connection: &mut Connection, user: UserId, now: DateTime<Utc>) -> Result<Option<UserStatus>> {
    Ok(sqlx::query_as!(
        UserStatus,
        "select emoji, message, is_busy, clear_at from user_statuses
         where user_id = $1 and (clear_at is null or clear_at > $2)",
        user.get(),
        now,
    )
    .fetch_optional(connection)
    .await?)
}

pub async fn upsert(connection: &mut Connection, user: UserId, status: &UserStatus) -> Result<()> {
    sqlx::query!(
        "insert into user_statuses (user_id, emoji, message, is_busy, clear_at) values ($1, $2, $3, $4, $5)
         on conflict (user_id) do update set emoji = excluded.emoji, message = excluded.message,
           is_busy = excluded.is_busy, clear_at = excluded.clear_at",
        user.get(),
        status.emoji,
        status.message.as_deref(),
        status.is_busy,
        status.clear_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, user: UserId) -> Result<()> {
    sqlx::query!("delete from user_statuses where user_id = $1", user.get()).execute(connection).await?;
    Ok(())
}

//! Subscriptions to merge requests.

use holdfast_domain::ids::{MergeRequestId, UserId};

use crate::{Connection, Result};

pub async fn set_subscribed(
    connection: &mut Connection,
    id: MergeRequestId,
    user: UserId,
    is_subscribed: bool,
) -> Result<()> {
    sqlx::query!(
        "insert into merge_request_subscriptions (merge_request_id, user_id, subscribed) values ($1, $2, $3)
         on conflict (merge_request_id, user_id) do update set subscribed = $3",
        id.get(),
        user.get(),
        is_subscribed,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Subscribes a user who has neither subscribed nor unsubscribed.
pub async fn subscribe_by_default(connection: &mut Connection, id: MergeRequestId, user: UserId) -> Result<()> {
    sqlx::query!(
        "insert into merge_request_subscriptions (merge_request_id, user_id, subscribed) values ($1, $2, true)
         on conflict do nothing",
        id.get(),
        user.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

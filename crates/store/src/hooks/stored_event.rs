//! Events in the outbox, and the bodies that deliveries of an event carry.
//!
//! The body is stored once, before the first attempt. Every later attempt and replay reads the stored bytes.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{Connection, Result};

/// An event of the outbox, with the body that was stored for one kind of hook.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    pub id: i64,
    pub kind: String,
    pub project_id: Option<i64>,
    pub created_at: DateTime<Utc>,
    /// The data that was recorded with the event. Null if the body is stored.
    pub payload: Value,
    /// None until the first delivery of the event is about to be sent.
    pub body: Option<Vec<u8>>,
}

/// The key of an event's body for one kind of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BodyKey {
    pub outbox_id: i64,
    /// The time of the event, which selects the partition.
    pub created_at: DateTime<Utc>,
    /// Whether the body is for hooks of the project; system hooks get another one.
    pub for_project_hook: bool,
}

/// Finds an event. Returns None once the event is older than the retention of the outbox.
pub async fn find(connection: &mut Connection, key: BodyKey) -> Result<Option<StoredEvent>> {
    Ok(sqlx::query_as!(
        StoredEvent,
        r#"select o.id, o.kind, o.project_id, o.created_at,
             case when b.body is null then o.payload else 'null' end as "payload!", b.body as "body?"
           from outbox o
           left join event_bodies b on b.outbox_id = $1 and b.created_at = $2 and b.for_project_hook = $3
           where o.id = $1 and o.created_at = $2"#,
        key.outbox_id,
        key.created_at,
        key.for_project_hook,
    )
    .fetch_optional(connection)
    .await?)
}

/// Finds several events at once, except those of 8 KB or more, which the caller loads one at a time.
pub async fn find_small(connection: &mut Connection, keys: &[BodyKey]) -> Result<Vec<(BodyKey, StoredEvent)>> {
    let rows = sqlx::query!(
        r#"select o.id, o.kind, o.project_id, o.created_at, k.for_project_hook as "for_project_hook!",
             case when b.body is null then o.payload else 'null' end as "payload!", b.body as "body?"
           from unnest($1::bigint[], $2::timestamptz[], $3::boolean[]) k (id, created_at, for_project_hook)
           join outbox o on o.id = k.id and o.created_at = k.created_at
           left join event_bodies b on b.outbox_id = k.id and b.created_at = k.created_at
             and b.for_project_hook = k.for_project_hook
           where coalesce(octet_length(b.body), pg_column_size(o.payload)) < 8192"#,
        &keys.iter().map(|key| key.outbox_id).collect::<Vec<_>>(),
        &keys.iter().map(|key| key.created_at).collect::<Vec<_>>(),
        &keys.iter().map(|key| key.for_project_hook).collect::<Vec<_>>(),
    )
    .fetch_all(connection)
    .await?;
    let events = rows.into_iter().map(|row| {
        let key = BodyKey { outbox_id: row.id, created_at: row.created_at, for_project_hook: row.for_project_hook };
        let (id, kind, project_id, created_at) = (row.id, row.kind, row.project_id, row.created_at);
        (key, StoredEvent { id, kind, project_id, created_at, payload: row.payload, body: row.body })
    });
    Ok(events.collect())
}

/// Stores a body unless another node has stored one, and returns the stored one. It is durable on return: the caller's
/// connection must not have turned off `synchronous_commit`, nor be inside a transaction.
pub async fn store_body(connection: &mut Connection, key: BodyKey, body: Vec<u8>) -> Result<Vec<u8>> {
    let inserted = sqlx::query!(
        "insert into event_bodies (outbox_id, created_at, for_project_hook, body) values ($1, $2, $3, $4)
         on conflict do nothing",
        key.outbox_id,
        key.created_at,
        key.for_project_hook,
        &body,
    )
    .execute(&mut *connection)
    .await?;
    if inserted.rows_affected() == 1 {
        return Ok(body);
    }
    Ok(sqlx::query_scalar!(
        "select body from event_bodies where outbox_id = $1 and created_at = $2 and for_project_hook = $3",
        key.outbox_id,
        key.created_at,
        key.for_project_hook,
    )
    .fetch_one(connection)
    .await?)
}

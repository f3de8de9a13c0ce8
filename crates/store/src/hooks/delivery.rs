//! Deliveries of hooks: sent and pending ones, and replays.

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::EventKind;
use holdfast_domain::ids::{HookId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use serde_json::Value;
use sqlx::{Postgres, QueryBuilder};

use super::hook::StoredToken;
use super::queue::{self, Receiver};
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Delivery {
    pub sequence: i64,
    /// The sequence number of the original delivery, if this is a replay.
    pub replay_of: Option<i64>,
    pub kind: String,
    pub outbox_id: i64,
    /// The time of the event.
    pub created_at: DateTime<Utc>,
    pub attempts: i32,
    pub attempted_at: Option<DateTime<Utc>>,
    pub delivered_at: Option<DateTime<Utc>>,
    pub status: Option<i16>,
    pub duration_ms: Option<i32>,
    pub error: Option<String>,
    /// The last response of the receiver. Only [`find`] loads it.
    #[sqlx(default)]
    pub response: Option<Value>,
    #[sqlx(rename = "position")]
    position: i64,
    is_paused: bool,
    public_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// The delivery is to be sent, possibly again.
    Pending,
    Delivered,
    /// The delivery failed. It is not sent until a user replays it or its hook recovers.
    Parked,
}

impl Delivery {
    pub fn state(&self) -> DeliveryState {
        let is_behind = self.sequence <= self.position;
        match self.delivered_at {
            Some(_) if is_behind => DeliveryState::Delivered,
            None if is_behind || self.is_paused && self.attempts > 0 => DeliveryState::Parked,
            _ => DeliveryState::Pending,
        }
    }

    /// Returns the id of the delivery, which is the same for all attempts and replays.
    pub fn id(&self) -> String {
        id(&self.public_id, self.replay_of.unwrap_or(self.sequence))
    }
}

/// Returns the id of a delivery. It is unique across instances, since the public id of a hook is a random UUID.
pub fn id(public_id: &str, sequence: i64) -> String {
    format!("{public_id}-{sequence}")
}

/// The columns of the tables in [`JOINS`].
const COLUMNS: &str = "\
    d.sequence, d.replay_of, d.kind, d.outbox_id, d.created_at, d.attempts, d.attempted_at, d.delivered_at, d.status, \
    d.duration_ms, d.error, coalesce(q.restart_after, q.position) as position, q.paused_at is not null as is_paused, \
    h.public_id::text as public_id";

/// The deliveries `d`, with their hooks and queues.
const JOINS: &str = "d join hook_queues q on q.hook_id = d.hook_id join hooks h on h.id = d.hook_id";

/// Lists the deliveries of a hook, the latest first.
pub async fn list(database: &Database, hook: HookId, page: PageRequest) -> Result<Page<Delivery>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "d.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from deliveries d where d.hook_id = ").push_bind(hook.get());
        },
        order: "d.sequence desc",
        page: table_alias(JOINS),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

#[derive(sqlx::FromRow)]
struct LatestRow {
    hook_id: i64,
    #[sqlx(flatten)]
    delivery: Delivery,
}

/// Lists the latest delivery of each of these hooks, with the id of the hook. Hooks without deliveries are left out.
pub async fn list_latest(connection: &mut Connection, hooks: &[HookId]) -> Result<Vec<(HookId, Delivery)>> {
    let ids: Vec<i64> = hooks.iter().map(|id| id.get()).collect();
    let mut query = QueryBuilder::new("select d.hook_id, ");
    query.push(COLUMNS).push(" from unnest(").push_bind(ids).push(") i (id) cross join lateral ");
    query.push("(select * from deliveries d where d.hook_id = i.id order by d.sequence desc limit 1) ").push(JOINS);
    let rows: Vec<LatestRow> = query.build_query_as().fetch_all(connection).await?;
    Ok(rows.into_iter().map(|row| (row.hook_id.into(), row.delivery)).collect())
}

/// The delivery that a hook sends next.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct NextDelivery {
    #[sqlx(flatten)]
    pub delivery: Delivery,
    /// When it is sent, or sent again. While a node sends deliveries of the hook, the time at which its lease expires.
    pub due_at: Option<DateTime<Utc>>,
}

/// Finds the delivery that a hook sends next. Returns None if none is pending.
pub async fn find_next(connection: &mut Connection, hook: HookId) -> Result<Option<NextDelivery>> {
    let mut query = QueryBuilder::new("select q.due_at, ");
    query.push(COLUMNS).push(" from hook_queues q join hooks h on h.id = q.hook_id cross join lateral ");
    query.push("(select * from deliveries d where d.hook_id = q.hook_id ");
    query.push("and d.sequence > coalesce(q.restart_after, q.position) order by d.sequence limit 1) d ");
    query.push("where q.hook_id = ").push_bind(hook.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// A delivery with its response, and with the body of its request.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DeliveryWithBody {
    #[sqlx(flatten)]
    pub delivery: Delivery,
    /// None if no body is stored, or if it is longer than [`MAX_LISTED_BODY_BYTES`].
    pub body: Option<Vec<u8>>,
}

/// Maximum size of a body in a list. Few bodies are longer, and a page of 100 of them has at most 6.4 MB.
const MAX_LISTED_BODY_BYTES: i64 = 64 << 10;

/// Like [`list`], but with the responses and the bodies of the requests.
pub async fn list_with_bodies(
    connection: &mut Connection,
    hook: HookId,
    page: PageRequest,
) -> Result<Page<DeliveryWithBody>> {
    let columns = format!(
        "d.response, case when octet_length(b.body) <= {MAX_LISTED_BODY_BYTES} then b.body end as body, {COLUMNS}"
    );
    let list = PagedQuery {
        columns: &columns,
        rows: "d.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from deliveries d where d.hook_id = ").push_bind(hook.get());
        },
        order: "d.sequence desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push(JOINS).push(" left join event_bodies b on b.outbox_id = d.outbox_id ");
            query.push("and b.for_project_hook = (h.project_id is not null) and b.created_at = d.created_at");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(connection, page).await
}

pub async fn find(connection: &mut Connection, hook: HookId, sequence: i64) -> Result<Option<Delivery>> {
    let mut query = QueryBuilder::new("select d.response, ");
    query.push(COLUMNS).push(" from deliveries ").push(JOINS);
    query.push(" where d.hook_id = ").push_bind(hook.get()).push(" and d.sequence = ").push_bind(sequence);
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Finds the receiver of a hook's deliveries.
pub async fn find_receiver(connection: &mut Connection, hook: HookId) -> Result<Option<Receiver>> {
    let row = sqlx::query!(
        r#"select project_id is not null as "is_of_project!", public_id::text as "public_id!", url, token, sealed_token,
             enable_ssl_verification from hooks where id = $1"#,
        hook.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Receiver {
        is_project_hook: row.is_of_project,
        public_id: row.public_id,
        url: row.url,
        token: StoredToken { clear: row.token, encrypted: row.sealed_token },
        verify_certificate: row.enable_ssl_verification,
    }))
}

/// Locks the queue of a hook and returns the last sequence number that was assigned. No other is assigned until the end
/// of the transaction.
pub async fn lock_last_sequence(connection: &mut Connection, hook: HookId) -> Result<Option<i64>> {
    Ok(sqlx::query_scalar!("select last_sequence from hook_queues where hook_id = $1 for no key update", hook.get(),)
        .fetch_optional(connection)
        .await?)
}

/// Appends a delivery to the queue of a hook and returns its sequence number. Returns None if the event has been
/// deleted; the caller must then roll back, since a sequence number was assigned.
async fn append_delivery(
    connection: &mut Connection,
    hook: HookId,
    (outbox_id, created_at): (i64, DateTime<Utc>),
    replay_of: Option<i64>,
    now: DateTime<Utc>,
) -> Result<Option<i64>> {
    Ok(sqlx::query_scalar!(
        "with numbered as (
           update hook_queues set last_sequence = last_sequence + 1, due_at = coalesce(due_at, $4),
             waiting_since = coalesce(waiting_since, $4)
           where hook_id = $1 returning last_sequence
         )
         insert into deliveries (hook_id, sequence, outbox_id, created_at, kind, replay_of)
         select $1, n.last_sequence, o.id, o.created_at, o.kind, $3 from numbered n, outbox o
         where o.id = $2 and o.created_at = $5
         returning sequence",
        hook.get(),
        outbox_id,
        replay_of,
        now,
        created_at,
    )
    .fetch_optional(connection)
    .await?)
}

/// Appends a replay of a delivery behind all pending ones, and makes the hook due at once. Returns the sequence number
/// of the replay, or None if the event has been deleted; the caller must then roll back.
pub async fn replay(
    connection: &mut Connection,
    hook: HookId,
    delivery: &Delivery,
    now: DateTime<Utc>,
) -> Result<Option<i64>> {
    let original = delivery.replay_of.unwrap_or(delivery.sequence);
    queue::retry_now(connection, hook, None, now).await?;
    append_delivery(connection, hook, (delivery.outbox_id, delivery.created_at), Some(original), now).await
}

/// Records an event for one hook only, without fan-out, and makes the hook due at once.
pub async fn publish_to_hook(
    connection: &mut Connection,
    hook: HookId,
    kind: EventKind,
    payload: &Value,
    now: DateTime<Utc>,
) -> Result<()> {
    let outbox_id = sqlx::query_scalar!(
        "insert into outbox (kind, payload, created_at) values ($1, $2, $3) returning id",
        kind.as_str(),
        payload,
        now,
    )
    .fetch_one(&mut *connection)
    .await?;
    queue::retry_now(connection, hook, None, now).await?;
    append_delivery(connection, hook, (outbox_id, now), None, now).await?;
    Ok(())
}

/// Like [`publish_to_hook`], for an event of the project that the hook belongs to.
pub async fn publish_to_project_hook(
    connection: &mut Connection,
    hook: HookId,
    project: ProjectId,
    kind: EventKind,
    payload: &Value,
    now: DateTime<Utc>,
) -> Result<()> {
    let insert = sqlx::query_scalar(
        "insert into outbox (kind, project_id, payload, created_at) values ($1, $2, $3, $4) returning id",
    );
    let insert = insert.bind(kind.as_str()).bind(project.get()).bind(payload).bind(now);
    let outbox_id = insert.fetch_one(&mut *connection).await?;
    queue::retry_now(connection, hook, None, now).await?;
    append_delivery(connection, hook, (outbox_id, now), None, now).await?;
    Ok(())
}

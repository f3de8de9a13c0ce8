//! The delivery queue: one row per hook, leased by one dispatcher at a time.
//!
//! A dispatcher leases due hooks with [`lease_due`], sends their deliveries in sequence order and gives the hooks back
//! with [`release`]. A lease that is not released expires, and another node takes the hook over. The results of the
//! first dispatcher are then ignored, except for its attempts.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::hooks::{Lane, RetryState};
use holdfast_domain::ids::HookId;
use serde_json::Value;

use super::hook::StoredToken;
use crate::{Connection, Result};

/// A leased hook with its next deliveries.
#[derive(Clone, Debug)]
pub struct LeasedHook {
    pub hook: HookId,
    pub lease_id: i64,
    /// The lane of the hook. Like `due_at`, this is the value from before the lease.
    pub lane: Lane,
    pub due_at: DateTime<Utc>,
    pub receiver: Receiver,
    pub retry_state: RetryState,
    /// The next deliveries in sequence order.
    pub deliveries: Vec<PendingDelivery>,
}

/// The receiver of a hook's deliveries.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub is_project_hook: bool,
    pub public_id: String,
    pub url: String,
    pub token: StoredToken,
    pub verify_certificate: bool,
}

/// A delivery that is to be sent.
#[derive(Clone, Debug)]
pub struct PendingDelivery {
    pub sequence: i64,
    /// The sequence number of the original delivery, if this is a replay; otherwise its own.
    pub original_sequence: i64,
    pub kind: String,
    pub outbox_id: i64,
    pub created_at: DateTime<Utc>,
}

/// Turns off synchronous commit for this transaction. If the database crashes before the commit is on disk, deliveries
/// are sent again.
async fn use_async_commit(connection: &mut Connection) -> Result<()> {
    sqlx::query!("set local synchronous_commit = off").execute(connection).await?;
    Ok(())
}

/// A request for at most `limit` due hooks of a lane. Hooks up to `after`, by due time and id, were leased shortly
/// before and are skipped: scanning their dead index entries would cost more than the rest of the query.
#[derive(Clone, Copy, Debug)]
pub struct LaneRequest {
    pub lane: Lane,
    pub limit: i64,
    pub after: (DateTime<Utc>, i64),
}

/// Leases due hooks, each with at most `max_deliveries` deliveries. `lease` is the id and the duration of the lease. A
/// hook that is not released before the lease expires is due again.
pub async fn lease_due(
    connection: &mut Connection,
    requests: &[LaneRequest],
    max_deliveries: i64,
    lease: (i64, TimeDelta),
    now: DateTime<Utc>,
) -> Result<Vec<LeasedHook>> {
    use_async_commit(connection).await?;
    let rows = sqlx::query!(
        r#"with due as (
             select d.* from unnest($2::smallint[], $3::bigint[], $7::timestamptz[], $8::bigint[]) l (lane, most, at, id),
               lateral (
                 select hook_id, due_at from hook_queues
                 where lane = l.lane and due_at <= $1 and (due_at, hook_id) > (l.at, l.id)
                 order by due_at, hook_id limit l.most for no key update skip locked
               ) d
           ), leased as (
             update hook_queues q set due_at = $5, lease = $4, position = coalesce(q.restart_after, q.position),
               restart_after = null, hurry = false
             from due where q.hook_id = due.hook_id
             returning q.hook_id, q.position, q.lane, q.failures, q.refusals, q.failing_since, q.paused_at, due.due_at
           )
           select l.hook_id, l.due_at as "due_at!", l.lane, l.failures, l.refusals, l.failing_since, l.paused_at, h.project_id,
             h.public_id::text as "public_id!", h.url, h.token, h.sealed_token, h.enable_ssl_verification, d.sequence as "sequence?",
             d.replay_of, d.kind as "kind?", d.outbox_id as "outbox_id?", d.created_at as "created_at?"
           from leased l join hooks h on h.id = l.hook_id
           left join lateral (
             select d.sequence, d.replay_of, d.kind, d.outbox_id, d.created_at from deliveries d
             where d.hook_id = l.hook_id and d.sequence > l.position order by d.sequence limit $6
           ) d on true
           order by l.hook_id, d.sequence"#,
        now,
        &requests.iter().map(|it| it.lane.as_i16()).collect::<Vec<_>>(),
        &requests.iter().map(|it| it.limit).collect::<Vec<_>>(),
        lease.0,
        now + lease.1,
        max_deliveries,
        &requests.iter().map(|it| it.after.0).collect::<Vec<_>>(),
        &requests.iter().map(|it| it.after.1).collect::<Vec<_>>(),
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut leased_hooks: Vec<LeasedHook> = Vec::new();
    for row in rows {
        let hook = HookId::from(row.hook_id);
        if leased_hooks.last().is_none_or(|leased| leased.hook != hook) {
            leased_hooks.push(LeasedHook {
                hook,
                lease_id: lease.0,
                due_at: row.due_at,
                receiver: Receiver {
                    is_project_hook: row.project_id.is_some(),
                    public_id: row.public_id,
                    url: row.url,
                    token: StoredToken { clear: row.token, encrypted: row.sealed_token },
                    verify_certificate: row.enable_ssl_verification,
                },
                lane: Lane::ALL.into_iter().find(|lane| lane.as_i16() == row.lane).unwrap_or(Lane::Healthy),
                retry_state: RetryState {
                    failures: row.failures as u32,
                    rejections: row.refusals as u32,
                    failing_since: row.failing_since,
                    paused_at: row.paused_at,
                },
                deliveries: Vec::new(),
            });
        }
        if let (Some(leased), Some(sequence), Some(kind), Some(outbox_id), Some(created_at)) =
            (leased_hooks.last_mut(), row.sequence, row.kind, row.outbox_id, row.created_at)
        {
            let original_sequence = row.replay_of.unwrap_or(sequence);
            leased.deliveries.push(PendingDelivery { sequence, original_sequence, kind, outbox_id, created_at });
        }
    }
    Ok(leased_hooks)
}

/// The result of one attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub hook: HookId,
    pub sequence: i64,
    pub created_at: DateTime<Utc>,
    pub attempted_at: DateTime<Utc>,
    /// The duration of the request. None if no request was sent.
    pub duration_ms: Option<i32>,
    pub is_delivered: bool,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub response: Option<Value>,
}

/// The new state of a hook that a dispatcher releases.
#[derive(Clone, Copy, Debug)]
pub struct HookRelease {
    pub hook: HookId,
    pub lease_id: i64,
    /// The sequence number up to which all deliveries are delivered, parked or expired, and the time of that delivery's
    /// event. None if it did not change.
    pub processed_through: Option<(i64, DateTime<Utc>)>,
    /// Whether the lease found no deliveries although the hook was due. They were deleted after their retention, and
    /// [`release`] advances the position past them.
    pub has_no_deliveries: bool,
    pub retry_state: RetryState,
    pub lane: Lane,
    /// When the hook is due again, if deliveries are pending.
    pub due_at: DateTime<Utc>,
}

/// Records attempts and releases hooks. If another dispatcher has leased a hook meanwhile, only the attempts are
/// recorded.
pub async fn release(
    connection: &mut Connection,
    attempts: &[Attempt],
    releases: &[HookRelease],
    now: DateTime<Utc>,
) -> Result<()> {
    use_async_commit(connection).await?;
    let hooks: Vec<i64> = releases.iter().map(|it| it.hook.get()).collect();
    // All code locks queues in the order of their hook ids, to avoid deadlocks.
    sqlx::query!("select from hook_queues where hook_id = any($1) order by hook_id for no key update", &hooks)
        .execute(&mut *connection)
        .await?;
    sqlx::query!(
        "update deliveries d set attempts = d.attempts + 1, attempted_at = a.at, duration_ms = a.duration_ms,
           delivered_at = case when a.delivered then a.at else d.delivered_at end, status = a.status, error = a.error,
           response = a.response
         from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::boolean[],
           $7::smallint[], $8::text[], $9::jsonb[])
           a (hook_id, sequence, created_at, at, duration_ms, delivered, status, error, response)
         where d.hook_id = a.hook_id and d.sequence = a.sequence and d.created_at = a.created_at",
        &attempts.iter().map(|it| it.hook.get()).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.sequence).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.created_at).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.attempted_at).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.duration_ms).collect::<Vec<_>>() as &[Option<i32>],
        &attempts.iter().map(|it| it.is_delivered).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.status).collect::<Vec<_>>() as &[Option<i16>],
        &attempts.iter().map(|it| it.error.clone()).collect::<Vec<_>>() as &[Option<String>],
        &attempts.iter().map(|it| it.response.clone()).collect::<Vec<_>>() as &[Option<Value>],
    )
    .execute(&mut *connection)
    .await?;
    let empty_releases = releases.iter().filter(|it| it.has_no_deliveries);
    let (empty_hooks, leases): (Vec<i64>, Vec<i64>) = empty_releases.map(|it| (it.hook.get(), it.lease_id)).unzip();
    if !empty_hooks.is_empty() {
        sqlx::query!(
            "update hook_queues q set position = coalesce((select min(d.sequence) - 1 from deliveries d
               where d.hook_id = q.hook_id and d.sequence > q.position), q.last_sequence)
             from unnest($1::bigint[], $2::bigint[]) l (hook_id, lease)
             where q.hook_id = l.hook_id and q.lease = l.lease",
            &empty_hooks,
            &leases,
        )
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query!(
        "update hook_queues q set lease = null, restart_after = null,
           position = coalesce(q.restart_after, l.position, q.position),
           due_at = case when coalesce(q.restart_after, l.position, q.position) < q.last_sequence then
             case when q.hurry then $9 else l.due_at end end,
           waiting_since = case when coalesce(q.restart_after, l.position, q.position) < q.last_sequence then
             greatest(q.waiting_since, l.reached_at) end,
           hurry = false, lane = l.lane, failures = case when q.hurry then 0 else l.failures end,
           refusals = case when q.hurry then 0 else l.refusals end,
           failing_since = case when q.hurry then null else l.failing_since end,
           paused_at = case when q.hurry then null else l.paused_at end
         from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
           $7::timestamptz[], $8::timestamptz[], $10::integer[], $11::smallint[])
           l (hook_id, lease, position, failures, failing_since, paused_at, due_at, reached_at, refusals, lane)
         where q.hook_id = l.hook_id and q.lease = l.lease",
        &hooks,
        &releases.iter().map(|it| it.lease_id).collect::<Vec<_>>(),
        &releases.iter().map(|it| it.processed_through.map(|(position, _)| position)).collect::<Vec<_>>()
            as &[Option<i64>],
        &releases.iter().map(|it| it.retry_state.failures as i32).collect::<Vec<_>>(),
        &releases.iter().map(|it| it.retry_state.failing_since).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        &releases.iter().map(|it| it.retry_state.paused_at).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        &releases.iter().map(|it| it.due_at).collect::<Vec<_>>(),
        &releases.iter().map(|it| it.processed_through.map(|(_, at)| at)).collect::<Vec<_>>()
            as &[Option<DateTime<Utc>>],
        now,
        &releases.iter().map(|it| it.retry_state.rejections as i32).collect::<Vec<_>>(),
        &releases.iter().map(|it| it.lane.as_i16()).collect::<Vec<_>>(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Makes a hook due at once and resets its failures, also if it is paused. With `after`, it continues behind that
/// sequence number. For a leased hook this takes effect when the hook is released.
pub async fn retry_now(
    connection: &mut Connection,
    hook: HookId,
    after: Option<i64>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update hook_queues set restart_after = coalesce($2, restart_after), hurry = lease is not null, failures = 0,
           refusals = 0, failing_since = null, paused_at = null, waiting_since = coalesce(waiting_since, $3),
           due_at = case when lease is null then $3 else due_at end
         where hook_id = $1",
        hook.get(),
        after,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Counts over all hooks, for monitoring.
#[derive(Clone, Copy, Debug)]
pub struct HookOverview {
    /// The time since which an event or delivery is waiting. Deliveries of paused hooks are not considered.
    pub waiting_since: Option<DateTime<Utc>>,
    pub failing: i64,
    pub paused: i64,
    /// Events that have not been fanned out.
    pub pending_fan_out: i64,
}

/// Returns counts over all hooks. Each stops at 10,000, which bounds the cost.
pub async fn overview(connection: &mut Connection) -> Result<HookOverview> {
    Ok(sqlx::query_as!(
        HookOverview,
        r#"select
             least((select waiting_since from hook_queues where waiting_since is not null and paused_at is null
              order by waiting_since limit 1), (select created_at from outbox_queue order by outbox_id limit 1))
              as waiting_since,
             (select count(*) from (select from hook_queues where failing_since is not null limit 10000) f) as "failing!",
             (select count(*) from (select from hook_queues where paused_at is not null limit 10000) p) as "paused!",
             (select count(*) from (select from outbox_queue limit 10000) w) as "pending_fan_out!""#,
    )
    .fetch_one(connection)
    .await?)
}

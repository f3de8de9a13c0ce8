//! Hooks that wait, and who is at them. Whoever is at a hook sends to it; nobody else does.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::hooks::{Lane, Trouble};
use holdfast_domain::ids::HookId;
use serde_json::Value;

use super::hook::StoredToken;
use crate::{Connection, Result};

/// A hook that somebody took on, and what it is to be told next.
#[derive(Clone, Debug)]
pub struct Run {
    pub hook: HookId,
    pub lease: i64,
    /// Where it stood, and since when.
    pub lane: Lane,
    pub due_at: DateTime<Utc>,
    pub receiver: Receiver,
    pub trouble: Trouble,
    /// In order.
    pub messages: Vec<Message>,
}

/// Where a hook's deliveries go.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub is_of_project: bool,
    pub public_id: String,
    pub url: String,
    pub token: StoredToken,
    pub verify_certificate: bool,
}

/// What a hook is told.
#[derive(Clone, Debug)]
pub struct Message {
    pub sequence: i64,
    /// The number under which it was first sent.
    pub original: i64,
    pub kind: String,
    pub outbox_id: i64,
    pub created_at: DateTime<Utc>,
}

/// Lets the transaction end before it is on the disk. If the database dies in that moment, something is sent again.
async fn hasten(connection: &mut Connection) -> Result<()> {
    sqlx::query!("set local synchronous_commit = off").execute(connection).await?;
    Ok(())
}

/// Hooks that are to be taken on: how many of a line, and behind which one of it. Those before that were taken lately; to
/// pass by what is left of them costs more than all else.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub lane: Lane,
    pub most: i64,
    pub after: (DateTime<Utc>, i64),
}

/// Takes on hooks that are due. Who does not give them back by the end of the lease counts as dead.
pub async fn take(
    connection: &mut Connection,
    places: &[Places],
    most_messages: i64,
    lease: (i64, TimeDelta),
    now: DateTime<Utc>,
) -> Result<Vec<Run>> {
    hasten(connection).await?;
    let rows = sqlx::query!(
        r#"with due as (
             select d.* from unnest($2::smallint[], $3::bigint[], $7::timestamptz[], $8::bigint[]) l (lane, most, at, id),
               lateral (
                 select hook_id, due_at from hook_queues
                 where lane = l.lane and due_at <= $1 and (due_at, hook_id) > (l.at, l.id)
                 order by due_at, hook_id limit l.most for no key update skip locked
               ) d
           ), taken as (
             update hook_queues q set due_at = $5, lease = $4, position = coalesce(q.restart_after, q.position),
               restart_after = null, hurry = false
             from due where q.hook_id = due.hook_id
             returning q.hook_id, q.position, q.lane, q.failures, q.refusals, q.failing_since, q.paused_at, due.due_at
           )
           select t.hook_id, t.due_at as "due_at!", t.lane, t.failures, t.refusals, t.failing_since, t.paused_at, h.project_id,
             h.public_id::text as "public_id!", h.url, h.token, h.sealed_token, h.enable_ssl_verification, d.sequence as "sequence?",
             d.replay_of, d.kind as "kind?", d.outbox_id as "outbox_id?", d.created_at as "created_at?"
           from taken t join hooks h on h.id = t.hook_id
           left join lateral (
             select d.sequence, d.replay_of, d.kind, d.outbox_id, d.created_at from deliveries d
             where d.hook_id = t.hook_id and d.sequence > t.position order by d.sequence limit $6
           ) d on true
           order by t.hook_id, d.sequence"#,
        now,
        &places.iter().map(|it| it.lane.code()).collect::<Vec<_>>(),
        &places.iter().map(|it| it.most).collect::<Vec<_>>(),
        lease.0,
        now + lease.1,
        most_messages,
        &places.iter().map(|it| it.after.0).collect::<Vec<_>>(),
        &places.iter().map(|it| it.after.1).collect::<Vec<_>>(),
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut runs: Vec<Run> = Vec::new();
    for row in rows {
        let hook = HookId::from(row.hook_id);
        if runs.last().is_none_or(|run| run.hook != hook) {
            runs.push(Run {
                hook,
                lease: lease.0,
                due_at: row.due_at,
                receiver: Receiver {
                    is_of_project: row.project_id.is_some(),
                    public_id: row.public_id,
                    url: row.url,
                    token: StoredToken { clear: row.token, sealed: row.sealed_token },
                    verify_certificate: row.enable_ssl_verification,
                },
                lane: Lane::ALL.into_iter().find(|lane| lane.code() == row.lane).unwrap_or(Lane::Well),
                trouble: Trouble {
                    failures: row.failures as u32,
                    refusals: row.refusals as u32,
                    failing_since: row.failing_since,
                    paused_at: row.paused_at,
                },
                messages: Vec::new(),
            });
        }
        if let (Some(run), Some(sequence), Some(kind), Some(outbox_id), Some(created_at)) =
            (runs.last_mut(), row.sequence, row.kind, row.outbox_id, row.created_at)
        {
            let original = row.replay_of.unwrap_or(sequence);
            run.messages.push(Message { sequence, original, kind, outbox_id, created_at });
        }
    }
    Ok(runs)
}

/// What came of one attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub hook: HookId,
    pub sequence: i64,
    pub created_at: DateTime<Utc>,
    pub at: DateTime<Utc>,
    /// How long it took, unless nobody was asked.
    pub duration_ms: Option<i32>,
    pub delivered: bool,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub response: Option<Value>,
}

/// How somebody leaves a hook.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    pub hook: HookId,
    pub lease: i64,
    /// Everything up to here is delivered or given up, and when that happened which the last of it tells of; None if all
    /// is as it was.
    pub reached: Option<(i64, DateTime<Utc>)>,
    /// There was nothing to send although something waits: it was too old to be kept.
    pub found_nothing: bool,
    pub trouble: Trouble,
    pub lane: Lane,
    /// When somebody is to come again, if anything waits then.
    pub due_at: DateTime<Utc>,
}

/// Writes down what was done, and gives the hooks back. Of a hook that somebody else is at by now, only the attempts are
/// written down.
pub async fn leave(connection: &mut Connection, attempts: &[Attempt], left: &[Left], now: DateTime<Utc>) -> Result<()> {
    hasten(connection).await?;
    let hooks: Vec<i64> = left.iter().map(|it| it.hook.get()).collect();
    // In one order for all who lock queues.
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
        &attempts.iter().map(|it| it.at).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.duration_ms).collect::<Vec<_>>() as &[Option<i32>],
        &attempts.iter().map(|it| it.delivered).collect::<Vec<_>>(),
        &attempts.iter().map(|it| it.status).collect::<Vec<_>>() as &[Option<i16>],
        &attempts.iter().map(|it| it.error.clone()).collect::<Vec<_>>() as &[Option<String>],
        &attempts.iter().map(|it| it.response.clone()).collect::<Vec<_>>() as &[Option<Value>],
    )
    .execute(&mut *connection)
    .await?;
    let empty = left.iter().filter(|it| it.found_nothing);
    let (empty, leases): (Vec<i64>, Vec<i64>) = empty.map(|it| (it.hook.get(), it.lease)).unzip();
    if !empty.is_empty() {
        sqlx::query!(
            "update hook_queues q set position = coalesce((select min(d.sequence) - 1 from deliveries d
               where d.hook_id = q.hook_id and d.sequence > q.position), q.last_sequence)
             from unnest($1::bigint[], $2::bigint[]) l (hook_id, lease)
             where q.hook_id = l.hook_id and q.lease = l.lease",
            &empty,
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
        &left.iter().map(|it| it.lease).collect::<Vec<_>>(),
        &left.iter().map(|it| it.reached.map(|(position, _)| position)).collect::<Vec<_>>() as &[Option<i64>],
        &left.iter().map(|it| it.trouble.failures as i32).collect::<Vec<_>>(),
        &left.iter().map(|it| it.trouble.failing_since).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        &left.iter().map(|it| it.trouble.paused_at).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        &left.iter().map(|it| it.due_at).collect::<Vec<_>>(),
        &left.iter().map(|it| it.reached.map(|(_, at)| at)).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        now,
        &left.iter().map(|it| it.trouble.refusals as i32).collect::<Vec<_>>(),
        &left.iter().map(|it| it.lane.code()).collect::<Vec<_>>(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Has a hook tried at once, whatever happened before; after that number if there is one.
pub async fn hurry(connection: &mut Connection, hook: HookId, after: Option<i64>, now: DateTime<Utc>) -> Result<()> {
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

/// What there is to say about all hooks.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    /// Since when something waits to be told, but for what waits for paused hooks.
    pub waiting_since: Option<DateTime<Utc>>,
    pub failing: i64,
    pub paused: i64,
    /// What happened and was handed to nobody yet.
    pub not_handed_over: i64,
}

/// Counted up to some number.
pub async fn overview(connection: &mut Connection) -> Result<Overview> {
    Ok(sqlx::query_as!(
        Overview,
        r#"select
             least((select waiting_since from hook_queues where waiting_since is not null and paused_at is null
              order by waiting_since limit 1), (select created_at from outbox_queue order by outbox_id limit 1))
              as waiting_since,
             (select count(*) from (select from hook_queues where failing_since is not null limit 10000) f) as "failing!",
             (select count(*) from (select from hook_queues where paused_at is not null limit 10000) p) as "paused!",
             (select count(*) from (select from outbox_queue limit 10000) w) as "not_handed_over!""#,
    )
    .fetch_one(connection)
    .await?)
}

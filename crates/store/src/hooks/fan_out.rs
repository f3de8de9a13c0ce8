//! Fan-out: copies events from the outbox into the queues of subscribed hooks. Each delivery gets the next sequence
//! number of its hook.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::EventKind;

use crate::{Connection, Result};

/// An event that has not been fanned out.
#[derive(Clone, Copy, Debug)]
pub struct PendingEvent {
    pub id: i64,
    project_id: Option<i64>,
}

/// Acquires the fan-out lock until the end of the transaction. Returns false if another node holds it. With one node at
/// a time, sequence numbers follow the order of events.
pub async fn try_lock(connection: &mut Connection) -> Result<bool> {
    // An arbitrary number that no other advisory lock uses.
    const LOCK: i64 = 0x686f_6f6b_735f_6f75;
    Ok(sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock($1) as "is_acquired!""#, LOCK)
        .fetch_one(connection)
        .await?)
}

/// Returns the oldest events. If an event is visible to this query, so are all events that were committed before it
/// happened, so the order of causes and effects is kept.
pub async fn next_batch(connection: &mut Connection, at_most: i64) -> Result<Vec<PendingEvent>> {
    Ok(sqlx::query_as!(
        PendingEvent,
        "select outbox_id as id, project_id from outbox_queue order by outbox_id limit $1",
        at_most,
    )
    .fetch_all(connection)
    .await?)
}

/// Returns for each event the maximum number of its deliveries: the number of hooks of its project and of system hooks.
pub async fn count_hooks(connection: &mut Connection, events: &[PendingEvent]) -> Result<Vec<i64>> {
    let projects: Vec<i64> = events.iter().filter_map(|it| it.project_id).collect();
    let counts = sqlx::query!(
        r#"select project_id, count(*) as "count!" from hooks where project_id = any($1) or project_id is null
           group by project_id"#,
        &projects,
    )
    .fetch_all(connection)
    .await?;
    let counts: HashMap<Option<i64>, i64> = counts.into_iter().map(|it| (it.project_id, it.count)).collect();
    let count_for = |project: Option<i64>| counts.get(&project).copied().unwrap_or(0);
    Ok(events.iter().map(|it| count_for(None) + it.project_id.map_or(0, |id| count_for(Some(id)))).collect())
}

/// Inserts deliveries for all hooks that subscribe to these events and are not newer than them, and removes the events from the outbox queue.
/// Returns the number of deliveries.
pub async fn insert_deliveries(
    connection: &mut Connection,
    events: &[PendingEvent],
    now: DateTime<Utc>,
) -> Result<u64> {
    let ids: Vec<i64> = events.iter().map(|it| it.id).collect();
    let system_kinds: Vec<&str> =
        EventKind::ALL.iter().filter(|it| it.is_system_event()).map(|it| it.as_str()).collect();
    // Pairs of event and subscribed hook, sorted by hook id: all code locks queues in this order.
    let pairs = sqlx::query!(
        r#"select w.outbox_id as "outbox_id!", h.id as "hook_id!" from outbox_queue w join hooks h
             on h.project_id = w.project_id and h.id <= coalesce(w.newest_hook_id, h.id) and case w.kind
               when 'push' then h.push_events when 'tag_push' then h.tag_push_events
               when 'issue' then h.issues_events when 'note' then h.note_events
               when 'merge_request' then h.merge_requests_events
               when 'build' then h.build_events when 'pipeline' then h.pipeline_events else false end
           where w.outbox_id = any($1)
           union all
           select w.outbox_id, h.id from outbox_queue w join hooks h
             on h.project_id is null and h.id <= coalesce(w.newest_hook_id, h.id) and case w.kind
               when 'push' then h.push_events when 'tag_push' then h.tag_push_events else w.kind = any($2) end
           where w.outbox_id = any($1)
           order by 2, 1"#,
        &ids,
        &system_kinds as &[&str],
    )
    .fetch_all(&mut *connection)
    .await?;
    let (hooks, outbox_ids): (Vec<i64>, Vec<i64>) = pairs.into_iter().map(|it| (it.hook_id, it.outbox_id)).unzip();
    let mut created = 0;
    if !hooks.is_empty() {
        sqlx::query!(
            "select from hook_queues where hook_id = any($1) order by hook_id for no key update",
            &hooks as &[i64],
        )
        .execute(&mut *connection)
        .await?;
        created = sqlx::query!(
            "with pairs as (
               select hook_id, outbox_id, row_number() over (partition by hook_id order by outbox_id) as place
               from unnest($1::bigint[], $2::bigint[]) p (hook_id, outbox_id)
             ), counts as (
               select hook_id, count(*) as count from pairs group by hook_id
             ), numbered as (
               update hook_queues q set last_sequence = q.last_sequence + c.count,
                 due_at = coalesce(q.due_at, $3), waiting_since = coalesce(q.waiting_since, $3)
               from counts c where q.hook_id = c.hook_id returning q.hook_id, q.last_sequence - c.count as before
             )
             insert into deliveries (hook_id, sequence, outbox_id, created_at, kind)
             select p.hook_id, n.before + p.place, w.outbox_id, w.created_at, w.kind
             from pairs p join numbered n using (hook_id) join outbox_queue w using (outbox_id)",
            &hooks,
            &outbox_ids,
            now,
        )
        .execute(&mut *connection)
        .await?
        .rows_affected();
    }
    sqlx::query!("delete from outbox_queue where outbox_id = any($1)", &ids).execute(connection).await?;
    Ok(created)
}

//! From what happened to those who are told: each hook that listens gets a delivery with the next number of its own.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::Kind;

use crate::{Connection, Result};

/// What waits in the queue, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub id: i64,
    project_id: Option<i64>,
}

/// False while another node is at it. Only one at a time: what happened first is numbered first. Until the end of the
/// transaction.
pub async fn lock(connection: &mut Connection) -> Result<bool> {
    // Any number that nobody else takes.
    const LOCK: i64 = 0x686f_6f6b_735f_6f75;
    Ok(sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock($1) as "taken!""#, LOCK).fetch_one(connection).await?)
}

/// The oldest. What is visible here includes everything that had happened before any of it.
pub async fn oldest(connection: &mut Connection, at_most: i64) -> Result<Vec<Waiting>> {
    Ok(sqlx::query_as!(
        Waiting,
        "select outbox_id as id, project_id from outbox_queue order by outbox_id limit $1",
        at_most,
    )
    .fetch_all(connection)
    .await?)
}

/// For each of them, how many could be told of it at the most.
pub async fn count_hooks(connection: &mut Connection, waiting: &[Waiting]) -> Result<Vec<i64>> {
    let projects: Vec<i64> = waiting.iter().filter_map(|it| it.project_id).collect();
    let counts = sqlx::query!(
        r#"select project_id, count(*) as "count!" from hooks where project_id = any($1) or project_id is null
           group by project_id"#,
        &projects,
    )
    .fetch_all(connection)
    .await?;
    let counts: HashMap<Option<i64>, i64> = counts.into_iter().map(|it| (it.project_id, it.count)).collect();
    let of = |project: Option<i64>| counts.get(&project).copied().unwrap_or(0);
    Ok(waiting.iter().map(|it| of(None) + it.project_id.map_or(0, |id| of(Some(id)))).collect())
}

/// Gives these to all who listen, and takes them out of the queue; how many deliveries that made.
pub async fn hand_over(connection: &mut Connection, waiting: &[Waiting], now: DateTime<Utc>) -> Result<u64> {
    let ids: Vec<i64> = waiting.iter().map(|it| it.id).collect();
    let of_instance: Vec<&str> = Kind::ALL.iter().filter(|it| it.is_of_instance()).map(|it| it.word()).collect();
    // Pairs of what waits and who listens, in one order for all who lock queues.
    let pairs = sqlx::query!(
        r#"select w.outbox_id as "outbox_id!", h.id as "hook_id!" from outbox_queue w join hooks h
             on h.project_id = w.project_id and case w.kind
               when 'push' then h.push_events when 'tag_push' then h.tag_push_events
               when 'issue' then h.issues_events when 'note' then h.note_events
               when 'build' then h.build_events when 'pipeline' then h.pipeline_events else false end
           where w.outbox_id = any($1)
           union all
           select w.outbox_id, h.id from outbox_queue w join hooks h on h.project_id is null and case w.kind
               when 'push' then h.push_events when 'tag_push' then h.tag_push_events else w.kind = any($2) end
           where w.outbox_id = any($1)
           order by 2, 1"#,
        &ids,
        &of_instance as &[&str],
    )
    .fetch_all(&mut *connection)
    .await?;
    let (hooks, messages): (Vec<i64>, Vec<i64>) = pairs.into_iter().map(|it| (it.hook_id, it.outbox_id)).unzip();
    let mut made = 0;
    if !hooks.is_empty() {
        sqlx::query!(
            "select from hook_queues where hook_id = any($1) order by hook_id for no key update",
            &hooks as &[i64],
        )
        .execute(&mut *connection)
        .await?;
        made = sqlx::query!(
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
            &messages,
            now,
        )
        .execute(&mut *connection)
        .await?
        .rows_affected();
    }
    sqlx::query!("delete from outbox_queue where outbox_id = any($1)", &ids).execute(connection).await?;
    Ok(made)
}

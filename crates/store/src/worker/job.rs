//! Work that outlives a request. It is queued in the caller's transaction: what is rolled back is never done.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{JobId, ProjectId};
use serde_json::Value;

use crate::{Connection, Database, Result};

/// A job as operators see it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Job {
    #[sqlx(try_from = "i64")]
    pub id: JobId,
    pub task: String,
    pub subject: String,
    pub total: i64,
    pub done: i64,
    pub requested_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub attempts: Option<i16>,
    pub max_attempts: Option<i16>,
    pub last_error: Option<String>,
    pub running: Option<bool>,
    pub next_try: Option<DateTime<Utc>>,
}

/// `details` are the task's own, ids and nothing else: what is queued ends up in logs.
pub async fn enqueue(
    connection: &mut Connection,
    task: &'static str,
    subject: &str,
    details: &Value,
    total: i64,
    now: DateTime<Utc>,
) -> Result<JobId> {
    enqueue_in(connection, None, task, subject, details, total, now).await
}

/// Like [`enqueue`], but in a named queue: of the jobs in one queue, one runs at a time, on all nodes together.
pub(super) async fn enqueue_in(
    connection: &mut Connection,
    queue: Option<&str>,
    task: &'static str,
    subject: &str,
    details: &Value,
    total: i64,
    now: DateTime<Utc>,
) -> Result<JobId> {
    let id = sqlx::query_scalar!(
        "insert into jobs (task, subject, total, requested_at) values ($1, $2, $3, $4) returning id",
        task,
        subject,
        total,
        now,
    )
    .fetch_one(&mut *connection)
    .await?;
    // The queue's schema is its own affair and not known when queries are checked.
    sqlx::query(
        "select graphile_worker.add_job($1, ($3::jsonb || jsonb_build_object('job', $2::bigint))::json, \
         queue_name := $4, job_key := 'job-' || $2, max_attempts := 25)",
    )
    .bind(task)
    .bind(id)
    .bind(details)
    .bind(queue)
    .execute(connection)
    .await?;
    Ok(id.into())
}

/// Returns how many jobs of a queue wait or run, or `at_most` if there are more. Jobs that used up their attempts do not
/// count.
pub(super) async fn count_in(connection: &mut Connection, queue: &str, at_most: i64) -> Result<i64> {
    const QUERY: &str = "select count(*) from (select from graphile_worker.jobs \
        where queue_name = $1 and attempts < max_attempts limit $2) j";
    Ok(sqlx::query_scalar(QUERY).bind(queue).bind(at_most).fetch_one(connection).await?)
}

/// What keeps a project in order and is no use of anybody's: not listed among the jobs. One that waits already is enough,
/// and while one runs the next waits, and keeps no worker from others.
pub(super) async fn enqueue_once(connection: &mut Connection, task: &'static str, project: ProjectId) -> Result<()> {
    sqlx::query(
        "select graphile_worker.add_job($1, json_build_object('project', $2::bigint), \
         queue_name := $1 || '-' || $2, job_key := $1 || '-' || $2, max_attempts := 3)",
    )
    .bind(task)
    .bind(project.get())
    .execute(connection)
    .await?;
    Ok(())
}

/// What follows from something in a project, one after the other. Not listed among the jobs either.
pub(super) async fn enqueue_in_turn(
    connection: &mut Connection,
    task: &'static str,
    project: ProjectId,
    details: &Value,
) -> Result<()> {
    sqlx::query("select graphile_worker.add_job($1, $3::json, queue_name := $1 || '-' || $2, max_attempts := 25)")
        .bind(task)
        .bind(project.get())
        .bind(details)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn set_total(connection: &mut Connection, id: JobId, total: i64) -> Result<()> {
    sqlx::query!("update jobs set total = $2 where id = $1", id.get(), total).execute(connection).await?;
    Ok(())
}

pub async fn advance(connection: &mut Connection, id: JobId, by: i64) -> Result<()> {
    sqlx::query!("update jobs set done = done + $2 where id = $1", id.get(), by).execute(connection).await?;
    Ok(())
}

pub async fn finish(connection: &mut Connection, id: JobId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update jobs set finished_at = $2 where id = $1", id.get(), now).execute(connection).await?;
    Ok(())
}

/// Some of those that were finished before that time; how many there were.
pub async fn forget(connection: &mut Connection, finished_before: DateTime<Utc>, at_most: i64) -> Result<u64> {
    let gone = sqlx::query!(
        "delete from jobs where id in (select id from jobs where finished_at < $1 order by finished_at limit $2)",
        finished_before,
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(gone.rows_affected())
}

/// Lets a job begin anew at once, also one that was given up. False if nothing waits under that number.
pub async fn retry(database: &Database, id: JobId) -> Result<bool> {
    const QUERY: &str = "\
        select count(*) from graphile_worker.reschedule_jobs( \
          array(select id from graphile_worker.jobs where key = 'job-' || $1), run_at := now(), attempts := 0)";
    let found: i64 = sqlx::query_scalar(QUERY).bind(id.get()).fetch_one(&mut *database.connection().await?).await?;
    Ok(found > 0)
}

/// The queue at a glance.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Queue {
    /// That could be done now and that nobody does.
    pub waiting: i64,
    /// Since when the oldest of them could be.
    pub oldest: Option<DateTime<Utc>>,
    pub given_up: i64,
}

/// Of more than that many it is enough to know that they are many.
const COUNTED: i64 = 10_000;

pub async fn overview(database: &Database) -> Result<Queue> {
    const QUERY: &str = "\
        select count(*) filter (where j.attempts < j.max_attempts and j.run_at <= now()) as waiting, \
          min(j.run_at) filter (where j.attempts < j.max_attempts and j.run_at <= now()) as oldest, \
          count(*) filter (where j.attempts >= j.max_attempts and j.key like 'job-%') as given_up \
        from (select key, attempts, max_attempts, run_at from graphile_worker.jobs where locked_at is null limit $1) j";
    Ok(sqlx::query_as(QUERY).bind(COUNTED).fetch_one(&mut *database.connection().await?).await?)
}

/// Newest first: those still to be finished, and the last that were.
pub async fn list(database: &Database, at_most: i64) -> Result<Vec<Job>> {
    const QUERY: &str = "\
        select j.id, j.task, j.subject, j.total, j.done, j.requested_at, j.finished_at, q.attempts, q.max_attempts, q.last_error, \
          q.locked_at is not null as running, q.run_at as next_try \
        from (select * from jobs order by (finished_at is null) desc, id desc limit $1) j \
        left join graphile_worker.jobs q on q.key = 'job-' || j.id order by j.id desc";
    Ok(sqlx::query_as(QUERY).bind(at_most).fetch_all(&mut *database.connection().await?).await?)
}

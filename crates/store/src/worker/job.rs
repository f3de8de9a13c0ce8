//! Background jobs in the queue of graphile_worker (ADR 0007).
//!
//! A job is enqueued in the caller's transaction: if that is rolled back, the job never runs. Jobs that operators see
//! also have a row in `jobs`.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{JobId, ProjectId};
use serde_json::Value;

use crate::{Connection, Database, Result};

/// A job as it is shown to operators.
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

/// Enqueues a job that operators see. `details` are the arguments of the task: ids and names of refs only, since
/// payloads are logged.
pub async fn enqueue(
    connection: &mut Connection,
    task: &'static str,
    subject: &str,
    details: &Value,
    total: i64,
    now: DateTime<Utc>,
) -> Result<JobId> {
    enqueue_in_queue(connection, None, task, subject, details, total, now).await
}

/// Like [`enqueue`], but in a named queue: of the jobs in one queue, one runs at a time, on all nodes together.
pub(super) async fn enqueue_in_queue(
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
    // The schema of graphile_worker is not part of the migrations, so this query cannot be checked at compile time.
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

/// Returns how many jobs of a queue wait or run, or `at_most` if there are more. Jobs that have failed permanently do
/// not count.
pub(super) async fn count_in_queue(connection: &mut Connection, queue: &str, at_most: i64) -> Result<i64> {
    const QUERY: &str = "select count(*) from (select from graphile_worker.jobs \
        where queue_name = $1 and attempts < max_attempts limit $2) j";
    Ok(sqlx::query_scalar(QUERY).bind(queue).bind(at_most).fetch_one(connection).await?)
}

/// Returns whether a job of a queue waits or runs whose payload contains this JSON value. Jobs that have failed permanently
/// do not count.
pub(super) async fn is_in_queue(connection: &mut Connection, queue: &str, part: &Value) -> Result<bool> {
    const QUERY: &str = "select exists (select from graphile_worker._private_job_queues q \
        join graphile_worker._private_jobs j on j.job_queue_id = q.id \
        where q.queue_name = $1 and j.attempts < j.max_attempts and j.payload::jsonb @> $2)";
    Ok(sqlx::query_scalar(QUERY).bind(queue).bind(part).fetch_one(connection).await?)
}

/// Enqueues a task for a project, unless a job of this task and project is already waiting. Operators do not see it
/// among the jobs. Jobs of one task and project run one at a time, and a waiting one occupies no worker.
pub(super) async fn enqueue_deduplicated(
    connection: &mut Connection,
    task: &'static str,
    project: ProjectId,
) -> Result<()> {
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

/// Enqueues a job that follows from a change in a project. Jobs of one task and project run in order, one at a time.
/// Operators do not see them among the jobs.
pub(super) async fn enqueue_serial(
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

pub async fn advance(connection: &mut Connection, id: JobId, steps: i64) -> Result<()> {
    sqlx::query!("update jobs set done = done + $2 where id = $1", id.get(), steps).execute(connection).await?;
    Ok(())
}

pub async fn finish(connection: &mut Connection, id: JobId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update jobs set finished_at = $2 where id = $1", id.get(), now).execute(connection).await?;
    Ok(())
}

/// Deletes a batch of jobs that finished before the time `finished_before`, the oldest first, and returns how many were
/// deleted.
pub async fn delete_finished_batch(
    connection: &mut Connection,
    finished_before: DateTime<Utc>,
    at_most: i64,
) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from jobs where id in (select id from jobs where finished_at < $1 order by finished_at limit $2)",
        finished_before,
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Makes a job due at once and resets its attempts, also if it has failed permanently. Returns false if the queue has
/// no such job.
pub async fn retry(database: &Database, id: JobId) -> Result<bool> {
    const QUERY: &str = "\
        select count(*) from graphile_worker.reschedule_jobs( \
          array(select id from graphile_worker.jobs where key = 'job-' || $1), run_at := now(), attempts := 0)";
    let found: i64 = sqlx::query_scalar(QUERY).bind(id.get()).fetch_one(&mut *database.connection().await?).await?;
    Ok(found > 0)
}

/// Counts of the job queue, for monitoring.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct JobOverview {
    /// Jobs that are due and not running.
    pub waiting: i64,
    /// The time at which the first of them became due.
    pub oldest: Option<DateTime<Utc>>,
    /// Jobs that have failed permanently.
    pub failed: i64,
}

/// Maximum number of jobs that [`overview`] looks at, which bounds its cost. Arbitrary.
const MAX_COUNTED: i64 = 10_000;

pub async fn overview(database: &Database) -> Result<JobOverview> {
    const QUERY: &str = "\
        select count(*) filter (where j.attempts < j.max_attempts and j.run_at <= now()) as waiting, \
          min(j.run_at) filter (where j.attempts < j.max_attempts and j.run_at <= now()) as oldest, \
          count(*) filter (where j.attempts >= j.max_attempts and j.key like 'job-%') as failed \
        from (select key, attempts, max_attempts, run_at from graphile_worker.jobs where locked_at is null limit $1) j";
    Ok(sqlx::query_as(QUERY).bind(MAX_COUNTED).fetch_one(&mut *database.connection().await?).await?)
}

/// Lists unfinished jobs and the latest finished ones, the newest first.
pub async fn list(database: &Database, at_most: i64) -> Result<Vec<Job>> {
    const QUERY: &str = "\
        select j.id, j.task, j.subject, j.total, j.done, j.requested_at, j.finished_at, q.attempts, q.max_attempts, q.last_error, \
          q.locked_at is not null as running, q.run_at as next_try \
        from (select * from jobs order by (finished_at is null) desc, id desc limit $1) j \
        left join graphile_worker.jobs q on q.key = 'job-' || j.id order by j.id desc";
    Ok(sqlx::query_as(QUERY).bind(at_most).fetch_all(&mut *database.connection().await?).await?)
}

//! The queue of builds that wait for a runner.
//!
//! The queue is fair between projects: each entry has a turn, a virtual time, and runners claim the entry with the
//! lowest turn. To claim a build, a runner locks the queue entry first and the pipeline second.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use serde_json::json;

use super::runner::Runner;
use crate::{Connection, Result};

/// Enqueues builds of a pipeline. They get consecutive turns, beginning at the first free turn of the project, but not
/// before the turn that is currently served. `last_turn` is the first free turn of the project afterwards.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    pipeline: PipelineId,
    builds: &[(BuildId, &[String])],
    now: DateTime<Utc>,
) -> Result<()> {
    let entries: Vec<_> = builds.iter().map(|(id, tags)| json!({ "id": id, "tags": tags })).collect();
    let entries = serde_json::Value::from(entries);
    sqlx::query!(
        "insert into tag_sets (tags)
         select distinct array(select distinct tag from jsonb_array_elements_text(b->'tags') tag order by tag)
         from jsonb_array_elements($1) b order by 1 on conflict (tags) do nothing",
        entries,
    )
    .execute(&mut *connection)
    .await?;
    // The row lock keeps other transactions from changing which runners the project allows.
    sqlx::query!("select from projects where id = $1 for share", project.get()).execute(&mut *connection).await?;
    // An idle project starts at the current virtual time: it neither owes for past use nor has saved up credit.
    let last_turn = sqlx::query_scalar!(
        r#"with served as (
             select greatest((select turn from build_runs order by turn desc limit 1),
               (select turn from build_queue order by turn limit 1), 0) as turn)
           insert into build_turns (project_id, last_turn) select $1, turn + $2 from served
           on conflict (project_id) do update
             set last_turn = case when exists (select from build_queue where project_id = $1)
               then greatest(build_turns.last_turn, (select turn from served)) else (select turn from served) end + $2
           returning last_turn"#,
        project.get(),
        builds.len() as i64,
    )
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query!(
        "insert into build_queue (build_id, pipeline_id, project_id, tag_set_id, turn, shared, queued_at)
         select (b->>'id')::bigint, $2, $1, t.id, $4 + position - 1, p.builds_enabled and p.shared_runners_enabled, $5
         from jsonb_array_elements($3) with ordinality a (b, position)
           join tag_sets t on t.tags = array(select distinct tag from jsonb_array_elements_text(b->'tags') tag order by tag)
           join projects p on p.id = $1
         order by position",
        project.get(),
        pipeline.get(),
        entries,
        last_turn - builds.len() as i64,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes builds from the queue. An entry that a runner is claiming is skipped: the caller holds the pipeline's lock,
/// for which the claim waits, so waiting for the entry would deadlock. [`claim`] then removes the entry.
pub async fn dequeue(connection: &mut Connection, builds: &[BuildId]) -> Result<()> {
    let ids: Vec<i64> = builds.iter().map(|id| id.get()).collect();
    sqlx::query!(
        "delete from build_queue where build_id in (
           select build_id from build_queue where build_id = any($1) order by build_id for update skip locked)",
        &ids,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A locked queue entry. No other runner can claim the build until the end of the transaction.
#[derive(Clone, Copy, Debug)]
pub struct QueuedBuild {
    pub build: BuildId,
    pub pipeline: PipelineId,
    pub project: ProjectId,
    pub turn: i64,
}

/// Locks the first queue entry that this runner may claim.
pub async fn lock_next(connection: &mut Connection, runner: &Runner) -> Result<Option<QueuedBuild>> {
    if !runner.shared {
        return lock_next_for_projects(connection, runner).await;
    }
    let mut skipped_sets = Vec::new();
    loop {
        // The query chooses among sets of tags that the runner covers and that are in the queue. They are few, however
        // many builds there are. The set with the lowest turn comes first.
        let found = sqlx::query!(
            r#"with first as (
                 select t.id from tag_sets t
                 where t.tags <@ $1 and ($2 or t.tags <> '{}') and t.id <> all ($3)
                   and exists (select from build_queue q where q.shared and q.tag_set_id = t.id)
                 order by (select q.turn from build_queue q where q.shared and q.tag_set_id = t.id order by q.turn limit 1)
                 limit 1)
               select first.id as "set!", q.build_id as "build?", q.pipeline_id as "pipeline?", q.project_id as "project?",
                 q.turn as "turn?"
               from first left join lateral (
                 select build_id, pipeline_id, project_id, turn from build_queue
                 where shared and tag_set_id = first.id order by turn, build_id limit 1 for update skip locked) q on true"#,
            &runner.tags,
            runner.run_untagged,
            &skipped_sets,
        )
        .fetch_optional(&mut *connection)
        .await?;
        let Some(found) = found else { return Ok(None) };
        if let (Some(build), Some(pipeline), Some(project), Some(turn)) =
            (found.build, found.pipeline, found.project, found.turn)
        {
            let (build, pipeline, project) = (build.into(), pipeline.into(), project.into());
            return Ok(Some(QueuedBuild { build, pipeline, project, turn }));
        }
        // Other runners have locked all entries with these tags.
        skipped_sets.push(found.set);
    }
}

async fn lock_next_for_projects(connection: &mut Connection, runner: &Runner) -> Result<Option<QueuedBuild>> {
    let found = sqlx::query!(
        "select q.build_id, q.pipeline_id, q.project_id, q.turn from build_queue q
           join tag_sets t on t.id = q.tag_set_id join projects p on p.id = q.project_id
         where q.project_id in (select project_id from runner_projects where runner_id = $1)
           and p.builds_enabled and p.namespace_id is not null and t.tags <@ $2 and ($3 or t.tags <> '{}')
         order by q.turn, q.build_id limit 1 for update of q skip locked",
        runner.id.get(),
        &runner.tags,
        runner.run_untagged,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|row| QueuedBuild {
        build: row.build_id.into(),
        pipeline: row.pipeline_id.into(),
        project: row.project_id.into(),
        turn: row.turn,
    }))
}

/// The result of [`claim`].
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Whether the runner has the build now. False if the build is not pending anymore, or its project does not allow
    /// it.
    pub is_claimed: bool,
    /// Whether the pipeline has changed to running.
    pub has_pipeline_started: bool,
}

/// Assigns a build to a runner and sets its pipeline to running. The caller has locked the queue entry with
/// [`lock_next`], and the pipeline. An entry whose build is not pending anymore is deleted. If the project does not
/// allow the claim at the moment, the entry is kept and hidden from shared runners.
pub async fn claim(
    connection: &mut Connection,
    queued: &QueuedBuild,
    runner: &Runner,
    token_digest: &[u8],
    now: DateTime<Utc>,
    ends_at: DateTime<Utc>,
) -> Result<Claim> {
    let running = Status::Running.as_str();
    Ok(sqlx::query_as!(
        Claim,
        r#"with claimed as (
             update builds b set status = $9, started_at = $6, runner_id = $4, token_digest = $5 from projects p
             where b.id = $1 and b.status = 'pending' and p.id = b.project_id and p.builds_enabled
               and p.namespace_id is not null and (p.shared_runners_enabled or not $10)
             returning b.id),
           not_pending as (select from builds where id = $1 and status <> 'pending'),
           dequeued as (
             delete from build_queue
             where build_id = $1 and (exists (select from claimed) or exists (select from not_pending))),
           hidden as (
             update build_queue set shared = false
             where build_id = $1 and not exists (select from claimed) and not exists (select from not_pending)),
           started_pipeline as (
             update pipelines set status = $9, started_at = coalesce(started_at, $6), updated_at = $6
             where id = $2 and status <> $9 and exists (select from claimed) returning id),
           run as (
             insert into build_runs (build_id, pipeline_id, project_id, runner_id, turn, token_digest, contacted_at, ends_at)
             select id, $2, $3, $4, $8, $5, $6, $7 from claimed)
           select exists (select from claimed) as "is_claimed!",
             exists (select from started_pipeline) as "has_pipeline_started!""#,
        queued.build.get(),
        queued.pipeline.get(),
        queued.project.get(),
        runner.id.get(),
        token_digest,
        now,
        ends_at,
        queued.turn,
        running,
        runner.shared,
    )
    .fetch_one(connection)
    .await?)
}

/// Sets whether shared runners may claim the queued builds of a project. Entries that a runner is claiming are skipped,
/// since [`claim`] checks the project itself.
pub async fn set_shared(connection: &mut Connection, project: ProjectId, is_shared: bool) -> Result<()> {
    sqlx::query!(
        "update build_queue set shared = $2 where build_id in (
           select build_id from build_queue where project_id = $1 and shared <> $2 order by build_id
           for update skip locked)",
        project.get(),
        is_shared,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A queue entry as long polls see it.
#[derive(Clone, Debug)]
pub struct QueueEntry {
    /// The column `entered`: entries are numbered in the order in which they enter the queue.
    pub sequence: i64,
    pub project: ProjectId,
    pub is_shared: bool,
    pub tags: Vec<String>,
}

/// Lists the newest queue entries with a sequence number greater than `after`, the newest first.
pub async fn list_newer(connection: &mut Connection, after: i64, at_most: i64) -> Result<Vec<QueueEntry>> {
    let rows = sqlx::query!(
        "select q.entered, q.project_id, q.shared, t.tags from build_queue q join tag_sets t on t.id = q.tag_set_id
         where q.entered > $1 order by q.entered desc limit $2",
        after,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    let entries = rows.into_iter().map(|row| QueueEntry {
        sequence: row.entered,
        project: row.project_id.into(),
        is_shared: row.shared,
        tags: row.tags,
    });
    Ok(entries.collect())
}

/// Returns a batch of builds that were queued before the time `before`, sorted by id, with ids greater than `after`.
pub async fn next_stale_batch(
    connection: &mut Connection,
    before: DateTime<Utc>,
    after: i64,
    at_most: i64,
) -> Result<Vec<(PipelineId, BuildId)>> {
    let rows = sqlx::query!(
        "select pipeline_id, build_id from build_queue where queued_at < $1 and build_id > $2 order by build_id limit $3",
        before,
        after,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.pipeline_id.into(), row.build_id.into())).collect())
}

/// The state of the queue, for metrics.
pub struct BuildQueueOverview {
    /// The length of the queue, counted up to 100,000.
    pub pending: i64,
    /// When the oldest entry was enqueued.
    pub oldest: Option<DateTime<Utc>>,
}

pub async fn overview(connection: &mut Connection) -> Result<BuildQueueOverview> {
    Ok(sqlx::query_as!(
        BuildQueueOverview,
        r#"select (select count(*) from (select from build_queue limit 100000) q) as "pending!",
             (select queued_at from build_queue order by queued_at limit 1) as "oldest?""#,
    )
    .fetch_one(connection)
    .await?)
}

pub async fn delete_project_turns(connection: &mut Connection, project: ProjectId) -> Result<()> {
    sqlx::query!("delete from build_turns where project_id = $1", project.get()).execute(connection).await?;
    Ok(())
}

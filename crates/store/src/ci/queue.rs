//! Builds that wait for a runner.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use serde_json::json;

use super::runner::Runner;
use crate::{Connection, Result};

/// Puts builds of a pipeline into the queue. Projects take turns: the next turn of one is never before the turn that is
/// served now, and each of its builds has one later than the one before. `last_turn` is the first that is free.
pub async fn enter(
    connection: &mut Connection,
    project: ProjectId,
    pipeline: PipelineId,
    builds: &[(BuildId, &[String])],
    now: DateTime<Utc>,
) -> Result<()> {
    let wanted: Vec<_> = builds.iter().map(|(id, tags)| json!({ "id": id, "tags": tags })).collect();
    let wanted = serde_json::Value::from(wanted);
    sqlx::query!(
        "insert into tag_sets (tags)
         select distinct array(select distinct tag from jsonb_array_elements_text(b->'tags') tag order by tag)
         from jsonb_array_elements($1) b order by 1 on conflict (tags) do nothing",
        wanted,
    )
    .execute(&mut *connection)
    .await?;
    // Until the end of the transaction nobody changes which runners the project wants.
    sqlx::query!("select from projects where id = $1 for share", project.get()).execute(&mut *connection).await?;
    // Who waits for nothing has no past: turns of long ago are no debt, and none is saved up.
    let last = sqlx::query_scalar!(
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
         select (b->>'id')::bigint, $2, $1, t.id, $4 + place - 1, p.builds_enabled and p.shared_runners_enabled, $5
         from jsonb_array_elements($3) with ordinality a (b, place)
           join tag_sets t on t.tags = array(select distinct tag from jsonb_array_elements_text(b->'tags') tag order by tag)
           join projects p on p.id = $1
         order by place",
        project.get(),
        pipeline.get(),
        wanted,
        last - builds.len() as i64,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes builds out of the queue. One that a runner is just about to take is left to that runner, who will find that it
/// waits no more: waiting for each other would be for ever.
pub async fn leave(connection: &mut Connection, builds: &[BuildId]) -> Result<()> {
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

/// What a runner is about to take; nobody else takes it until the end of the transaction.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub build: BuildId,
    pub pipeline: PipelineId,
    pub project: ProjectId,
    pub turn: i64,
}

/// The first that this runner may have.
pub async fn pick(connection: &mut Connection, runner: &Runner) -> Result<Option<Waiting>> {
    if !runner.shared {
        return pick_of_projects(connection, runner).await;
    }
    let mut passed = Vec::new();
    loop {
        // The sets of tags that the runner has all of and that somebody waits with: few, however many builds there are. Of
        // these the one whose turn is first.
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
            &passed,
        )
        .fetch_optional(&mut *connection)
        .await?;
        let Some(found) = found else { return Ok(None) };
        if let (Some(build), Some(pipeline), Some(project), Some(turn)) =
            (found.build, found.pipeline, found.project, found.turn)
        {
            let (build, pipeline, project) = (build.into(), pipeline.into(), project.into());
            return Ok(Some(Waiting { build, pipeline, project, turn }));
        }
        // Others are taking the last of these.
        passed.push(found.set);
    }
}

async fn pick_of_projects(connection: &mut Connection, runner: &Runner) -> Result<Option<Waiting>> {
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
    Ok(found.map(|row| Waiting {
        build: row.build_id.into(),
        pipeline: row.pipeline_id.into(),
        project: row.project_id.into(),
        turn: row.turn,
    }))
}

/// What came of taking a build.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// False if it waits no more.
    pub taken: bool,
    /// Whether its pipeline did not run before.
    pub begun: bool,
}

/// By whoever picked it, with the pipeline locked: the runner has the build from now on, and the pipeline runs. One that
/// waits no more leaves the queue; one whose project builds nothing at the moment stays there, for nobody.
pub async fn take(
    connection: &mut Connection,
    it: &Waiting,
    runner: &Runner,
    token_digest: &[u8],
    now: DateTime<Utc>,
    ends_at: DateTime<Utc>,
) -> Result<Taken> {
    let runs = Status::Running.word();
    Ok(sqlx::query_as!(
        Taken,
        r#"with taken as (
             update builds b set status = $9, started_at = $6, runner_id = $4, token_digest = $5 from projects p
             where b.id = $1 and b.status = 'pending' and p.id = b.project_id and p.builds_enabled
               and p.namespace_id is not null and (p.shared_runners_enabled or not $10)
             returning b.id),
           over as (select from builds where id = $1 and status <> 'pending'),
           gone as (
             delete from build_queue where build_id = $1 and (exists (select from taken) or exists (select from over))),
           hidden as (
             update build_queue set shared = false
             where build_id = $1 and not exists (select from taken) and not exists (select from over)),
           begun as (
             update pipelines set status = $9, started_at = coalesce(started_at, $6), updated_at = $6
             where id = $2 and status <> $9 and exists (select from taken) returning id),
           run as (
             insert into build_runs (build_id, pipeline_id, project_id, runner_id, turn, token_digest, contacted_at, ends_at)
             select id, $2, $3, $4, $8, $5, $6, $7 from taken)
           select exists (select from taken) as "taken!", exists (select from begun) as "begun!""#,
        it.build.get(),
        it.pipeline.get(),
        it.project.get(),
        runner.id.get(),
        token_digest,
        now,
        ends_at,
        it.turn,
        runs,
        runner.shared,
    )
    .fetch_one(connection)
    .await?)
}

/// Whether a project's builds are for everybody's runners, from now on.
pub async fn set_shared(connection: &mut Connection, project: ProjectId, shared: bool) -> Result<()> {
    sqlx::query!(
        "update build_queue set shared = $2 where build_id in (
           select build_id from build_queue where project_id = $1 and shared <> $2 order by build_id
           for update skip locked)",
        project.get(),
        shared,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// What came last, for those who wait for work.
#[derive(Clone, Debug)]
pub struct Entered {
    pub number: i64,
    pub project: ProjectId,
    pub shared: bool,
    pub tags: Vec<String>,
}

/// The newest, up to so many, that came after that number.
pub async fn entered(connection: &mut Connection, after: i64, at_most: i64) -> Result<Vec<Entered>> {
    let rows = sqlx::query!(
        "select q.entered, q.project_id, q.shared, t.tags from build_queue q join tag_sets t on t.id = q.tag_set_id
         where q.entered > $1 order by q.entered desc limit $2",
        after,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    let entered = rows.into_iter().map(|row| Entered {
        number: row.entered,
        project: row.project_id.into(),
        shared: row.shared,
        tags: row.tags,
    });
    Ok(entered.collect())
}

/// Some that wait since before that time, by their ids.
pub async fn some_older(
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

/// How many wait, up to a bound, and since when the first of them does.
pub async fn overview(connection: &mut Connection) -> Result<(i64, Option<DateTime<Utc>>)> {
    let row = sqlx::query!(
        r#"select (select count(*) from (select from build_queue limit 100000) q) as "waiting!",
             (select queued_at from build_queue order by queued_at limit 1) as "oldest?""#,
    )
    .fetch_one(connection)
    .await?;
    Ok((row.waiting, row.oldest))
}

pub async fn forget_project(connection: &mut Connection, project: ProjectId) -> Result<()> {
    sqlx::query!("delete from build_turns where project_id = $1", project.get()).execute(connection).await?;
    Ok(())
}

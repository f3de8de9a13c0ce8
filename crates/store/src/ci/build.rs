//! Builds, and their state as parts of a pipeline. Only `ci::pipeline_state` of `app` changes the status of a build
//! (ADR 0021).

use chrono::{DateTime, Utc};
use holdfast_domain::ci::file::{Artifacts, Cache, Environment, When};
use holdfast_domain::ci::transitions::BuildStep;
use holdfast_domain::ci::{FailureReason, Status};
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId, RunnerId, UserId};
use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use crate::{Connection, Error, Result};

/// The part of a build's definition in the CI file that the server passes on or evaluates later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildOptions {
    #[serde(default)]
    pub script: Vec<String>,
    #[serde(default)]
    pub after_script: Vec<String>,
    pub image: Option<String>,
    #[serde(default)]
    pub services: Vec<String>,
    #[serde(default)]
    pub variables: Vec<(String, String)>,
    /// Names of the builds whose artifacts are downloaded. None means all builds of earlier stages.
    pub dependencies: Option<Vec<String>>,
    pub artifacts: Option<Artifacts>,
    pub cache: Option<Cache>,
    pub environment: Option<Environment>,
    pub coverage: Option<String>,
}

/// A build to be inserted.
#[derive(Serialize)]
pub struct NewBuild {
    pub name: String,
    pub stage: String,
    pub stage_index: i32,
    pub run_when: When,
    pub allow_failure: bool,
    pub tags: Vec<String>,
    pub options: BuildOptions,
}

/// Inserts the builds of a pipeline, with ids in the given order.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    pipeline: PipelineId,
    user: Option<UserId>,
    builds: &[NewBuild],
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into builds (project_id, pipeline_id, user_id, name, stage, stage_index, status, run_when, allow_failure,
           tags, options, created_at)
         select $1, $2, $3, b->>'name', b->>'stage', (b->>'stage_index')::int, 'created', b->>'run_when',
           (b->>'allow_failure')::boolean, array(select jsonb_array_elements_text(b->'tags')), b->'options', $5
         from jsonb_array_elements($4) with ordinality a (b, position) order by position",
        project.get(),
        pipeline.get(),
        user.map(UserId::get),
        Json(builds) as _,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The part of a build that state transitions read and write.
#[derive(Clone, Debug)]
pub struct BuildState {
    pub id: BuildId,
    pub name: String,
    pub step: BuildStep,
    pub is_external: bool,
    pub tags: Vec<String>,
    pub queued_at: Option<DateTime<Utc>>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub user_id: Option<UserId>,
    pub failure_reason: Option<FailureReason>,
}

/// Lists the latest build of each name in a pipeline, sorted by stage and id.
pub async fn list_latest(connection: &mut Connection, pipeline: PipelineId) -> Result<Vec<BuildState>> {
    let rows = sqlx::query!(
        "select id, name, stage_index, status, run_when, allow_failure, external, tags, queued_at, started_at, finished_at,
           user_id, failure_reason
         from builds where pipeline_id = $1 and latest order by stage_index, id",
        pipeline.get(),
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(BuildState {
                id: row.id.into(),
                name: row.name,
                step: BuildStep {
                    stage: row.stage_index,
                    status: Status::from_str_opt(&row.status).ok_or(Error::invalid_value("a status"))?,
                    when: When::from_str_opt(&row.run_when).ok_or(Error::invalid_value("the `when` of a build"))?,
                    allow_failure: row.allow_failure,
                },
                is_external: row.external,
                tags: row.tags,
                queued_at: row.queued_at,
                started_at: row.started_at,
                finished_at: row.finished_at,
                user_id: row.user_id.map(Into::into),
                failure_reason: row
                    .failure_reason
                    .map(|it| FailureReason::from_str_opt(&it).unwrap_or(FailureReason::UnknownFailure)),
            })
        })
        .collect()
}

/// Saves the states of builds.
pub async fn save(connection: &mut Connection, builds: &[&BuildState]) -> Result<()> {
    let ids: Vec<i64> = builds.iter().map(|it| it.id.get()).collect();
    let statuses: Vec<&str> = builds.iter().map(|it| it.step.status.as_str()).collect();
    let queued: Vec<Option<DateTime<Utc>>> = builds.iter().map(|it| it.queued_at).collect();
    let started: Vec<Option<DateTime<Utc>>> = builds.iter().map(|it| it.started_at).collect();
    let finished: Vec<Option<DateTime<Utc>>> = builds.iter().map(|it| it.finished_at).collect();
    let users: Vec<Option<i64>> = builds.iter().map(|it| it.user_id.map(UserId::get)).collect();
    let reasons: Vec<Option<&str>> = builds.iter().map(|it| it.failure_reason.map(FailureReason::as_str)).collect();
    sqlx::query!(
        "update builds b set status = c.status, queued_at = c.queued_at, started_at = c.started_at,
           finished_at = c.finished_at, user_id = c.user_id, failure_reason = c.failure_reason
         from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6::bigint[],
           $7::text[]) c (id, status, queued_at, started_at, finished_at, user_id, failure_reason)
         where b.id = c.id",
        &ids,
        &statuses as &[&str],
        &queued as &[Option<DateTime<Utc>>],
        &started as &[Option<DateTime<Utc>>],
        &finished as &[Option<DateTime<Utc>>],
        &users as &[Option<i64>],
        &reasons as &[Option<&str>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Inserts copies of builds that are retried, and returns their ids. The old builds are no longer the latest of their
/// name.
pub async fn insert_retries(
    connection: &mut Connection,
    builds: &[BuildId],
    user: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<Vec<BuildId>> {
    let ids: Vec<i64> = builds.iter().map(|id| id.get()).collect();
    sqlx::query!("update builds set latest = false where id = any($1)", &ids).execute(&mut *connection).await?;
    let created = sqlx::query_scalar!(
        "insert into builds (project_id, pipeline_id, user_id, name, stage, stage_index, status, run_when, allow_failure,
           tags, options, created_at)
         select b.project_id, b.pipeline_id, $2, b.name, b.stage, b.stage_index, 'created', b.run_when, b.allow_failure,
           b.tags, b.options, $3
         from unnest($1::bigint[]) with ordinality c (id, position) join builds b using (id) order by position
         returning id",
        &ids,
        user.map(UserId::get),
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(created.into_iter().map(Into::into).collect())
}

/// Finds the pipeline of a build.
pub async fn find_pipeline_id(
    connection: &mut Connection,
    project: ProjectId,
    id: BuildId,
) -> Result<Option<PipelineId>> {
    let pipeline_id = sqlx::query_scalar!(
        "select pipeline_id from builds where project_id = $1 and id = $2",
        project.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(pipeline_id.map(Into::into))
}

/// A build that a runner has claimed. It may be finished.
pub struct ClaimedBuild {
    pub project: ProjectId,
    pub pipeline: PipelineId,
    pub status: Status,
    pub is_erased: bool,
}

#[derive(sqlx::FromRow)]
struct ClaimedBuildRow {
    project_id: i64,
    pipeline_id: i64,
    status: String,
    erased: bool,
}

impl TryFrom<ClaimedBuildRow> for ClaimedBuild {
    type Error = Error;

    fn try_from(row: ClaimedBuildRow) -> Result<Self> {
        let status = Status::from_str_opt(&row.status).ok_or(Error::invalid_value("a status"))?;
        let (project, pipeline) = (row.project_id.into(), row.pipeline_id.into());
        Ok(Self { project, pipeline, status, is_erased: row.erased })
    }
}

/// Finds a build by the token that its runner received with it.
pub async fn find_by_token(
    connection: &mut Connection,
    id: BuildId,
    token_digest: &[u8],
) -> Result<Option<ClaimedBuild>> {
    let row = sqlx::query_as!(
        ClaimedBuildRow,
        r#"select b.project_id, b.pipeline_id, b.status, b.erased_at is not null as "erased!" from builds b
           join projects p on p.id = b.project_id
           where b.id = $1 and b.token_digest = $2 and p.namespace_id is not null"#,
        id.get(),
        token_digest,
    )
    .fetch_optional(connection)
    .await?;
    row.map(ClaimedBuild::try_from).transpose()
}

pub async fn find_by_runner(
    connection: &mut Connection,
    id: BuildId,
    runner: RunnerId,
) -> Result<Option<ClaimedBuild>> {
    let row = sqlx::query_as!(
        ClaimedBuildRow,
        r#"select b.project_id, b.pipeline_id, b.status, b.erased_at is not null as "erased!" from builds b
           join projects p on p.id = b.project_id
           where b.id = $1 and b.runner_id = $2 and p.namespace_id is not null"#,
        id.get(),
        runner.get(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(ClaimedBuild::try_from).transpose()
}

/// Returns the pattern that finds the coverage in the trace of a build.
pub async fn find_coverage_pattern(connection: &mut Connection, id: BuildId) -> Result<Option<String>> {
    let row = sqlx::query_scalar!("select options->>'coverage' from builds where id = $1", id.get());
    Ok(row.fetch_optional(connection).await?.flatten())
}

pub async fn set_coverage(connection: &mut Connection, id: BuildId, coverage: f64) -> Result<()> {
    sqlx::query!("update builds set coverage = $2 where id = $1", id.get(), coverage).execute(connection).await?;
    Ok(())
}

pub async fn set_erased(connection: &mut Connection, id: BuildId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update builds set erased_at = $2 where id = $1", id.get(), now).execute(connection).await?;
    Ok(())
}

/// A commit status that an external service reports.
pub struct ExternalStatus<'a> {
    pub name: &'a str,
    pub target_url: Option<&'a str>,
    pub description: Option<&'a str>,
    pub coverage: Option<f64>,
    pub user: Option<UserId>,
}

/// The stage index of external statuses. It is arbitrary, and larger than that of any stage in a CI file.
pub const EXTERNAL_STAGE: i32 = 1_000_000;

/// Inserts an external status, which becomes the latest of its name.
pub async fn insert_external_status(
    connection: &mut Connection,
    project: ProjectId,
    pipeline: PipelineId,
    new: &ExternalStatus<'_>,
    now: DateTime<Utc>,
) -> Result<BuildId> {
    sqlx::query!(
        "update builds set latest = false where pipeline_id = $1 and name = $2 and latest",
        pipeline.get(),
        new.name,
    )
    .execute(&mut *connection)
    .await?;
    let id = sqlx::query_scalar!(
        "insert into builds (project_id, pipeline_id, user_id, name, stage, stage_index, status, external, run_when,
           allow_failure, tags, options, target_url, description, coverage, created_at)
         values ($1, $2, $3, $4, 'external', $5, 'created', true, 'on_success', false, '{}', '{}', $6, $7, $8, $9)
         returning id",
        project.get(),
        pipeline.get(),
        new.user.map(UserId::get),
        new.name,
        EXTERNAL_STAGE,
        new.target_url,
        new.description,
        new.coverage,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

pub async fn update_external_status(connection: &mut Connection, id: BuildId, new: &ExternalStatus<'_>) -> Result<()> {
    sqlx::query!(
        "update builds set target_url = coalesce($2, target_url), description = coalesce($3, description),
           coverage = coalesce($4, coverage) where id = $1",
        id.get(),
        new.target_url,
        new.description,
        new.coverage,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a batch of the builds of a project and marks their objects as unreferenced. Returns how many builds were
/// deleted.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, at_most: i64) -> Result<u64> {
    let deleted = sqlx::query!(
        "with chosen as (select id from builds where project_id = $1 limit $2),
           objects as (update build_objects set build_id = null where build_id in (select id from chosen))
         delete from builds where id in (select id from chosen)",
        project.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

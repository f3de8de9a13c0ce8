//! Running builds, with their tokens and heartbeats.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId, UserId};

use crate::{Connection, Result};

/// Records a heartbeat of a build.
pub async fn heartbeat(connection: &mut Connection, build: BuildId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update build_runs set contacted_at = $2 where build_id = $1", build.get(), now)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, builds: &[BuildId]) -> Result<()> {
    let ids: Vec<i64> = builds.iter().map(|id| id.get()).collect();
    sqlx::query!("delete from build_runs where build_id = any($1)", &ids).execute(connection).await?;
    Ok(())
}

/// A running build, found by its token.
#[derive(Clone, Copy, Debug)]
pub struct RunningBuild {
    pub id: BuildId,
    pub project: ProjectId,
    /// The user of the pipeline, whose permissions the build has.
    pub pipeline_user: Option<UserId>,
    /// The user who retried or played the build, or else the user of the pipeline. Their permissions do not extend
    /// those of the build, since they did not write its script (ADR 0031).
    pub started_by: Option<UserId>,
}

/// Finds the running build that has this token.
pub async fn find_by_token(connection: &mut Connection, token_digest: &[u8]) -> Result<Option<RunningBuild>> {
    const QUERY: &str = "select r.build_id, r.project_id, i.user_id, b.user_id
         from build_runs r join pipelines i on i.id = r.pipeline_id join builds b on b.id = r.build_id
           join projects p on p.id = r.project_id
         where r.token_digest = $1 and p.builds_enabled and p.namespace_id is not null";
    let row: Option<(i64, i64, Option<i64>, Option<i64>)> =
        sqlx::query_as(QUERY).bind(token_digest).fetch_optional(connection).await?;
    Ok(row.map(|(id, project, pipeline_user, started_by)| RunningBuild {
        id: id.into(),
        project: project.into(),
        pipeline_user: pipeline_user.map(Into::into),
        started_by: started_by.map(Into::into),
    }))
}

/// Returns a batch of stale builds, sorted by id, with ids greater than `after`: builds without a heartbeat since
/// `silent_since`, and builds that exceed their time limit at `now`.
pub async fn next_stale_batch(
    connection: &mut Connection,
    silent_since: DateTime<Utc>,
    now: DateTime<Utc>,
    after: i64,
    at_most: i64,
) -> Result<Vec<(PipelineId, BuildId)>> {
    // The query scans all running builds, of which there are no more than runners can execute at once.
    let rows = sqlx::query!(
        "select pipeline_id, build_id from build_runs where (contacted_at < $1 or ends_at < $2) and build_id > $3
         order by build_id limit $4",
        silent_since,
        now,
        after,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.pipeline_id.into(), row.build_id.into())).collect())
}

/// Returns whether a build is stale, by the rules of [`next_stale_batch`].
pub async fn is_stale(
    connection: &mut Connection,
    build: BuildId,
    silent_since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from build_runs where build_id = $1 and (contacted_at < $2 or ends_at < $3)) as "is_stale!""#,
        build.get(),
        silent_since,
        now,
    )
    .fetch_one(connection)
    .await?)
}

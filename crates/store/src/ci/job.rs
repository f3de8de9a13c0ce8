//! The data that a runner receives with a build: details, variables, and artifacts of earlier builds.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::file::When;
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use serde::Deserialize;
use sqlx::types::Json;

use super::build::BuildOptions;
use crate::{Connection, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct JobDetails {
    #[sqlx(try_from = "i64")]
    pub id: BuildId,
    #[sqlx(try_from = "i64")]
    pub pipeline_id: PipelineId,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    pub name: String,
    pub stage: String,
    pub stage_index: i32,
    #[sqlx(try_from = "String")]
    pub run_when: When,
    pub tags: Vec<String>,
    pub options: Json<BuildOptions>,
    pub r#ref: String,
    pub tag: bool,
    pub sha: String,
    pub before_sha: String,
    pub triggered: bool,
    /// Variables of the request that created the pipeline, encrypted like those of the project.
    pub request_variables: Option<Vec<u8>>,
    pub project_name: String,
    pub project_path: String,
    pub namespace_path: String,
    /// The user of the pipeline, whose permissions the build has; see
    /// [`RunningBuild`](super::running_build::RunningBuild).
    pub user_id: Option<i64>,
    pub user_email: Option<String>,
    pub variable_keys: Vec<String>,
    pub variable_values: Vec<Vec<u8>>,
}

pub async fn load(connection: &mut Connection, build: BuildId) -> Result<JobDetails> {
    const QUERY: &str = "\
        select b.id, b.pipeline_id, b.project_id, b.name, b.stage, b.stage_index, b.run_when, b.tags, b.options, i.ref, \
          i.tag, i.sha, i.before_sha, i.trigger_id is not null as triggered, i.variables as request_variables, \
          p.name as project_name, p.path as project_path, n.path as namespace_path, u.id as user_id, u.email as user_email, \
          array(select v.key from project_variables v where v.project_id = p.id order by v.key) as variable_keys, \
          array(select v.value from project_variables v where v.project_id = p.id order by v.key) as variable_values \
        from builds b join pipelines i on i.id = b.pipeline_id join projects p on p.id = b.project_id \
          join namespaces n on n.id = p.namespace_id left join users u on u.id = i.user_id where b.id = $1";
    Ok(sqlx::query_as(QUERY).bind(build.get()).fetch_one(connection).await?)
}

/// A build of an earlier stage, with the name and size of its artifacts.
#[derive(Clone, Debug, Deserialize)]
pub struct Dependency {
    pub id: BuildId,
    pub name: String,
    pub file: Option<(String, i64)>,
}

/// Lists the latest builds of earlier stages that succeeded or failed. A failed build is included because its artifacts
/// may be meant for later builds (`artifacts:when` in the CI file); a canceled build is left out because it was
/// interrupted. Expired artifacts are left out.
pub async fn list_dependencies(
    connection: &mut Connection,
    pipeline: PipelineId,
    stage: i32,
    now: DateTime<Utc>,
) -> Result<Vec<Dependency>> {
    let rows = sqlx::query!(
        r#"select b.id, b.name, a.file_name as "file_name?", a.bytes as "bytes?" from builds b
             left join artifacts a on a.build_id = b.id and (a.expires_at is null or a.expires_at > $3)
           where b.pipeline_id = $1 and b.latest and not b.external and b.stage_index < $2
             and b.status in ('success', 'failed')
           order by b.stage_index, b.id"#,
        pipeline.get(),
        stage,
        now,
    )
    .fetch_all(connection)
    .await?;
    let dependency = |row: (i64, String, Option<String>, Option<i64>)| Dependency {
        id: row.0.into(),
        name: row.1,
        file: row.2.zip(row.3),
    };
    Ok(rows.into_iter().map(|row| dependency((row.id, row.name, row.file_name, row.bytes))).collect())
}

/// Returns whether the token belongs to a running build in the same pipeline as `build`. That build may download the
/// artifacts of `build`.
pub async fn shares_pipeline(connection: &mut Connection, build: BuildId, token_digest: &[u8]) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from build_runs r join builds b on b.pipeline_id = r.pipeline_id
               join projects p on p.id = r.project_id
             where r.token_digest = $2 and b.id = $1 and p.namespace_id is not null and p.builds_enabled)
               as "shares_pipeline!""#,
        build.get(),
        token_digest,
    )
    .fetch_one(connection)
    .await?)
}

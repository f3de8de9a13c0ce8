//! Imports of repositories: source, credentials and progress.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{JobId, ProjectId};
use holdfast_domain::repository::{ImportPhase, ImportUrl};

use crate::{Connection, Result};

/// An import with its source and progress.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Import {
    /// Empty if the source is an archive.
    pub url: String,
    pub username: Option<String>,
    pub password: Option<String>,
    pub phase: String,
    pub percent: i16,
    pub error: Option<String>,
    pub requested_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
}

impl Import {
    pub fn is_finished(&self) -> bool {
        self.finished_at.is_some()
    }
}

/// Inserts an import of a project, or starts it again in the place of an earlier one.
pub async fn upsert(
    connection: &mut Connection,
    project: ProjectId,
    job: JobId,
    url: &ImportUrl,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into imports (project_id, job_id, url, username, password, phase, requested_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (project_id) do update set job_id = $2, url = $3, username = $4, password = $5, phase = $6,
           percent = 0, error = null, requested_at = $7, finished_at = null",
        project.get(),
        job.get(),
        url.url().as_str(),
        url.username,
        url.password,
        ImportPhase::Waiting.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Inserts an import of an archive, which has no URL.
pub async fn upsert_archive(
    connection: &mut Connection,
    project: ProjectId,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into imports (project_id, job_id, url, phase, requested_at) values ($1, $2, '', $3, $4)
         on conflict (project_id) do update set job_id = $2, url = '', username = null, password = null, phase = $3,
           percent = 0, error = null, requested_at = $4, finished_at = null",
        project.get(),
        job.get(),
        ImportPhase::Waiting.as_str(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find(connection: &mut Connection, project: ProjectId) -> Result<Option<Import>> {
    Ok(sqlx::query_as!(
        Import,
        "select url, username, password, phase, percent, error, requested_at, finished_at from imports
         where project_id = $1",
        project.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Records the progress of an import. Returns false if it was canceled: it is finished, or another import of the
/// project has started.
pub async fn advance(
    connection: &mut Connection,
    project: ProjectId,
    job: JobId,
    phase: ImportPhase,
    percent: i16,
) -> Result<bool> {
    let done = sqlx::query!(
        "update imports set phase = $2, percent = $3 where project_id = $1 and job_id = $4 and finished_at is null",
        project.get(),
        phase.as_str(),
        percent,
        job.get(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Finishes an import and deletes its credentials. Without a `job`, finishes the current import of the project. Returns
/// false if it was already finished, or belongs to another job.
pub async fn finish(
    connection: &mut Connection,
    project: ProjectId,
    job: Option<JobId>,
    phase: ImportPhase,
    error: Option<&str>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update imports set phase = $2, error = $3, finished_at = $4, username = null, password = null,
           percent = case when $2 = 'finished' then 100 else percent end
         where project_id = $1 and job_id = coalesce($5, job_id) and finished_at is null",
        project.get(),
        phase.as_str(),
        error,
        now,
        job.map(JobId::get),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

//! Imports of GitLab exports: how far they are. Their phase is in [`crate::repository::import`].

use holdfast_domain::ids::{JobId, ProjectId};
use serde_json::Value;

use super::upload::UploadObject;
use crate::{Connection, Result};

/// An import of a GitLab export.
#[derive(Clone, Debug)]
pub struct GitlabImport {
    /// The ids of local users and the names of others, by the id in the export.
    pub users: Value,
    pub progress: Value,
}

pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    job: JobId,
    upload: i64,
    users: &Value,
    progress: &Value,
) -> Result<()> {
    sqlx::query!(
        "insert into gitlab_imports (project_id, job_id, upload_id, users, progress) values ($1, $2, $3, $4, $5)",
        project.get(),
        job.get(),
        upload,
        users,
        progress,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find(connection: &mut Connection, project: ProjectId, job: JobId) -> Result<Option<GitlabImport>> {
    Ok(sqlx::query_as!(
        GitlabImport,
        "select users, progress from gitlab_imports where project_id = $1 and job_id = $2",
        project.get(),
        job.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Returns the progress of the latest import of a project, if that was a GitLab export.
pub async fn find_latest_progress(connection: &mut Connection, project: ProjectId) -> Result<Option<Value>> {
    Ok(sqlx::query_scalar!(
        "select g.progress from gitlab_imports g join imports i on i.project_id = g.project_id and i.job_id = g.job_id
         where g.project_id = $1",
        project.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Returns the progress and locks it until the end of the transaction. None if the import was canceled, or if another one
/// has started.
pub async fn lock_progress(connection: &mut Connection, project: ProjectId, job: JobId) -> Result<Option<Value>> {
    Ok(sqlx::query_scalar!(
        "select g.progress from gitlab_imports g join imports i on i.project_id = g.project_id and i.job_id = g.job_id
         where g.project_id = $1 and g.job_id = $2 and i.finished_at is null for update of g",
        project.get(),
        job.get(),
    )
    .fetch_optional(connection)
    .await?)
}

pub async fn update_progress(connection: &mut Connection, project: ProjectId, progress: &Value) -> Result<()> {
    sqlx::query!("update gitlab_imports set progress = $2 where project_id = $1", project.get(), progress)
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the object of the archive, which exists until the import has ended.
pub async fn find_archive(connection: &mut Connection, project: ProjectId, job: JobId) -> Result<Option<UploadObject>> {
    Ok(sqlx::query_as!(
        UploadObject,
        "select u.id, u.object_key from gitlab_imports g join uploads u on u.id = g.upload_id
         where g.project_id = $1 and g.job_id = $2",
        project.get(),
        job.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// The highest numbers of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighestNumbers {
    pub issue: i64,
    pub merge_request: i64,
    pub milestone: i64,
}

/// Makes new issues, merge requests and milestones of a project get higher numbers than these.
pub async fn reserve_numbers(connection: &mut Connection, project: ProjectId, highest: HighestNumbers) -> Result<()> {
    sqlx::query!(
        "update projects set last_issue_iid = greatest(last_issue_iid, $2),
           last_merge_request_iid = greatest(last_merge_request_iid, $3),
           last_milestone_iid = greatest(last_milestone_iid, $4) where id = $1",
        project.get(),
        highest.issue,
        highest.merge_request,
        highest.milestone,
    )
    .execute(connection)
    .await?;
    Ok(())
}

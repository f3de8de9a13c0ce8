//! Deletion of projects and users in two phases (ADR 0008).
//!
//! The request detaches the project from its namespace, so that it is not found anymore. A job deletes its contents in
//! batches. The caller publishes the events of what is deleted in the same transaction, before it calls these functions,
//! because the events are built from the rows.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{JobId, NamespaceId, ProjectId, UserId};
use serde_json::json;

use super::job;
use crate::ci::queue;
use crate::projects::{fork, project};
use crate::{Connection, Result};

pub const REMOVE_PROJECTS: &str = "remove_projects";
/// The task that earlier versions enqueue when a user is deleted. It does the same as [`REASSIGN_AUTHOR`]. The new task
/// has another name so that no node of an earlier version, which would delete the user's contributions, runs it during
/// an upgrade.
pub const REMOVE_AUTHOR: &str = "remove_author";
pub const REASSIGN_AUTHOR: &str = "reassign_author";

/// Detaches a project from its namespace, so that it is not found anymore, and enqueues the deletion of its contents.
pub async fn detach_project(
    connection: &mut Connection,
    project: ProjectId,
    subject: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let id = job::enqueue(connection, REMOVE_PROJECTS, subject, &json!({}), 1, now).await?;
    fork::unlink(connection, project).await?;
    queue::set_shared(connection, project, false).await?;
    sqlx::query!(
        "update projects set namespace_id = null, removal_id = $2 where id = $1 and namespace_id is not null",
        project.get(),
        id.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Locks the projects of a namespace, so that they get no new members. The caller has locked the namespace against new
/// projects, and reads what it publishes about the projects afterwards.
pub async fn lock_projects(connection: &mut Connection, namespace: NamespaceId) -> Result<()> {
    // Projects are locked in the order of their ids everywhere, to avoid deadlocks.
    sqlx::query!("select id from projects where namespace_id = $1 order by id for no key update", namespace.get())
        .fetch_all(connection)
        .await?;
    Ok(())
}

/// Like [`detach_project`], but for all projects of a namespace. The caller has locked them with [`lock_projects`].
pub async fn detach_namespace(
    connection: &mut Connection,
    namespace: NamespaceId,
    subject: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    if project::count_in_namespace(connection, namespace, 1).await? == 0 {
        return Ok(());
    }
    let id = job::enqueue(connection, REMOVE_PROJECTS, subject, &json!({}), 0, now).await?;
    sqlx::query!(
        "update projects s set forks_count = s.forks_count - f.forks
         from (select forked_from_id, count(*) as forks from projects
               where namespace_id = $1 and forked_from_id is not null group by forked_from_id) f
         where s.id = f.forked_from_id",
        namespace.get(),
    )
    .execute(&mut *connection)
    .await?;
    let detached = sqlx::query!(
        "update projects set namespace_id = null, removal_id = $2 where namespace_id = $1",
        namespace.get(),
        id.get(),
    )
    .execute(&mut *connection)
    .await?;
    job::set_total(connection, id, detached.rows_affected() as i64).await
}

/// Enqueues the job that reassigns the contributions of a deleted user to the ghost account.
pub async fn enqueue_reassign_author(
    connection: &mut Connection,
    author: UserId,
    subject: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    job::enqueue(connection, REASSIGN_AUTHOR, subject, &json!({ "author": author }), 0, now).await?;
    Ok(())
}

/// Returns the next project that a job has to delete.
pub async fn next_project(connection: &mut Connection, removal: JobId) -> Result<Option<ProjectId>> {
    let found =
        sqlx::query_scalar!("select id from projects where removal_id = $1 order by id limit 1", removal.get(),)
            .fetch_optional(connection)
            .await?;
    Ok(found.map(Into::into))
}

/// Deletes the row of a detached project and returns the number of deleted rows. The job has deleted its contents
/// before. Forks keep the project's visibility as their limit.
pub async fn delete(connection: &mut Connection, project: ProjectId) -> Result<u64> {
    fork::save_visibility_limit(connection, project).await?;
    let deleted = sqlx::query!("delete from projects where id = $1 and removal_id is not null", project.get())
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected())
}

//! Merges that wait for a pipeline.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{MergeRequestId, ProjectId, UserId};
use holdfast_git::ObjectId;

use super::merge_request::MergeRequestRef;
use crate::{Connection, Result};

/// How a merge request is to be merged when the pipeline of its head succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingMerge {
    pub head: ObjectId,
    /// The user who asked for it.
    pub user: UserId,
    pub message: Option<String>,
    pub removes_source_branch: Option<bool>,
}

/// Sets or clears how a merge request is to be merged later.
pub async fn set(
    connection: &mut Connection,
    id: MergeRequestId,
    waiting: Option<&WaitingMerge>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update merge_requests set waiting_head = $2, waiting_user_id = $3, waiting_message = $4,
           waiting_removes_source_branch = $5, updated_at = $6
         where id = $1",
        id.get(),
        waiting.map(|it| it.head.as_bytes().to_vec()),
        waiting.map(|it| it.user.get()),
        waiting.and_then(|it| it.message.as_deref()),
        waiting.and_then(|it| it.removes_source_branch),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists the open merge requests of a project's branches that wait for the pipeline of a commit.
pub async fn list(
    connection: &mut Connection,
    source: ProjectId,
    head: ObjectId,
) -> Result<Vec<(MergeRequestRef, WaitingMerge)>> {
    let rows = sqlx::query!(
        "select project_id, id, waiting_user_id, waiting_message, waiting_removes_source_branch from merge_requests
         where source_project_id = $1 and waiting_head = $2 and waiting_head is not null and state in (1, 3) order by id",
        source.get(),
        head.as_bytes(),
    )
    .fetch_all(connection)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let waiting = WaitingMerge {
            head,
            user: row.waiting_user_id.unwrap_or_default().into(),
            message: row.waiting_message,
            removes_source_branch: row.waiting_removes_source_branch,
        };
        found.push((MergeRequestRef { project: row.project_id.into(), id: row.id.into() }, waiting));
    }
    Ok(found)
}

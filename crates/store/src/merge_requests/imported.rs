//! Merge requests that come from another server: with the numbers, the authors and the times that they had.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{MergeRequestId, MilestoneId, ProjectId, UserId};
use holdfast_git::ObjectId;

use super::merge_request::Attributes;
use crate::{Connection, Result};

/// A merge request that was opened on another server, with its number there.
#[derive(Clone, Debug)]
pub struct ImportedMergeRequest {
    pub iid: i64,
    pub author: UserId,
    /// None if the source branch was in another project.
    pub source_project: Option<ProjectId>,
    pub source_branch: String,
    pub attributes: Attributes,
    pub merge_commit: Option<ObjectId>,
    pub merged_at: Option<DateTime<Utc>>,
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds.
    pub time_spent: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Inserts a merge request with the number that it had. Returns None if the project has one with that number, or
/// an open one of the same branches. The caller
/// inserts its version in the same transaction.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    request: &ImportedMergeRequest,
) -> Result<Option<MergeRequestId>> {
    let attributes = &request.attributes;
    let id = sqlx::query_scalar!(
        "insert into merge_requests (project_id, iid, author_id, source_project_id, source_branch, target_branch, title,
           description, state, removes_source_branch, assignee_id, milestone_id, merge_commit, merged_at, time_estimate,
           time_spent, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
         on conflict do nothing returning id",
        project.get(),
        request.iid,
        request.author.get(),
        request.source_project.map(ProjectId::get),
        request.source_branch,
        attributes.target_branch,
        attributes.title,
        attributes.description,
        attributes.state.as_i16(),
        attributes.removes_source_branch,
        attributes.assignee.map(UserId::get),
        attributes.milestone.map(MilestoneId::get),
        request.merge_commit.map(|id| id.as_bytes().to_vec()),
        request.merged_at,
        request.time_estimate,
        request.time_spent,
        request.created_at,
        request.updated_at,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

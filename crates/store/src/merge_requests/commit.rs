//! The merge requests that a commit belongs to.

use holdfast_domain::ids::{MergeRequestId, ProjectId};
use holdfast_git::ObjectId;

use crate::repository::snapshot::object_id;
use crate::{Connection, Result};

/// A merge request that a commit may belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRequest {
    pub id: MergeRequestId,
    /// The merge commit by which it was found. None if it was found by the head of its newest version.
    pub merge_commit: Option<ObjectId>,
}

/// Lists the merge requests of a project whose newest version has this head, and those with one of these merge commits,
/// at most `limit` of each. A merge request can be in the list twice.
pub async fn list(
    connection: &mut Connection,
    project: ProjectId,
    head: ObjectId,
    merge_commits: &[ObjectId],
    limit: i64,
) -> Result<Vec<CommitRequest>> {
    const QUERY: &str = "(select mr.id, null::bytea as merge_commit
           from merge_request_versions v join merge_requests mr on mr.id = v.merge_request_id
           where v.head = $2 and mr.project_id = $1 and not exists (select from merge_request_versions newer
             where newer.merge_request_id = v.merge_request_id and newer.number > v.number)
           order by mr.id desc limit $4)
         union all
         (select mr.id, mr.merge_commit from merge_requests mr
           where mr.project_id = $1 and mr.merge_commit = any($3) and mr.merge_commit is not null
           order by mr.id desc limit $4)";
    let merge_commits: Vec<&[u8]> = merge_commits.iter().map(|id| id.as_bytes()).collect();
    let rows: Vec<(i64, Option<Vec<u8>>)> = sqlx::query_as(QUERY)
        .bind(project.get())
        .bind(head.as_bytes())
        .bind(merge_commits)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let found = |(id, merge_commit): (i64, Option<Vec<u8>>)| {
        let merge_commit = merge_commit.as_deref().map(object_id).transpose()?;
        Ok(CommitRequest { id: id.into(), merge_commit })
    };
    rows.into_iter().map(found).collect()
}

//! Unreachable objects that a prune keeps: recent values of refs, commits of pipelines, and versions of merge requests.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::RepositoryId;
use holdfast_git::ObjectId;

use super::snapshot::object_id;
use crate::{Connection, Result};

/// Lists the roots of the objects to keep: all values of refs and all commits of pipelines since the time `since`, the
/// commits of pipelines that are not finished, and the commits of all versions of merge requests.
pub async fn list_roots(
    connection: &mut Connection,
    repository: RepositoryId,
    since: DateTime<Utc>,
) -> Result<Vec<ObjectId>> {
    let rows = sqlx::query_scalar!(
        r#"select old as "id!" from ref_log where repository_id = $1 and created_at >= $2 and old is not null
           union
           select new from ref_log where repository_id = $1 and created_at >= $2 and new is not null
           union
           select decode(p.sha, 'hex') from pipelines p join repositories r on r.project_id = p.project_id
           where r.id = $1 and (p.created_at >= $2 or p.finished_at is null)
           union
           select unnest(array_remove(array[v.head, v.start, v.base], null)) from merge_request_versions v
           join merge_requests mr on mr.id = v.merge_request_id join repositories r on r.project_id = mr.project_id
           where r.id = $1"#,
        repository.get(),
        since,
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(|id| object_id(id)).collect()
}

/// Lists the latest new values of refs, at most `at_most`.
pub async fn list_recent(connection: &mut Connection, repository: RepositoryId, at_most: i64) -> Result<Vec<ObjectId>> {
    let rows = sqlx::query_scalar!(
        r#"select new as "new!" from ref_log where repository_id = $1 and new is not null
           order by generation desc limit $2"#,
        repository.get(),
        at_most,
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(|id| object_id(id)).collect()
}

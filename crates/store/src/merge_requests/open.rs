//! The open merge request of two branches, of which there is at most one.

use holdfast_domain::ids::ProjectId;

use super::merge_request::Source;
use crate::{Connection, Result};

/// Returns the titles of the open merge requests of two branches.
pub async fn list_titles(
    connection: &mut Connection,
    project: ProjectId,
    source: Source<'_>,
    target_branch: &str,
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select title from merge_requests where source_project_id = $1 and source_branch = $2 and project_id = $3
           and target_branch = $4 and state in (1, 3)",
        source.project.get(),
        source.branch,
        project.get(),
        target_branch,
    )
    .fetch_all(connection)
    .await?)
}

/// Returns the number of the open merge request of two branches, if there is one.
pub async fn find_iid(
    connection: &mut Connection,
    project: ProjectId,
    source: Source<'_>,
    target_branch: &str,
) -> Result<Option<i64>> {
    const QUERY: &str = "\
        select iid from merge_requests where source_project_id = $1 and source_branch = $2 and project_id = $3 \
        and target_branch = $4 and state in (1, 3)";
    let query = sqlx::query_scalar(QUERY).bind(source.project.get()).bind(source.branch).bind(project.get());
    Ok(query.bind(target_branch).fetch_optional(connection).await?)
}

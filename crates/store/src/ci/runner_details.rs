//! What pages show beside runners: the builds that they execute, and the number of their projects.

use std::collections::HashMap;

use holdfast_domain::ids::{BuildId, ProjectId, RunnerId};

use crate::{Connection, Result};

/// A build that a runner executes.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct CurrentBuild {
    #[sqlx(try_from = "i64")]
    pub runner_id: RunnerId,
    #[sqlx(try_from = "i64")]
    pub id: BuildId,
    pub name: String,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
}

fn id_values(runners: &[RunnerId]) -> Vec<i64> {
    runners.iter().map(|id| id.get()).collect()
}

/// Lists the builds that these runners execute, of one project or of all, up to `at_most`, sorted by id.
pub async fn list_current_builds(
    connection: &mut Connection,
    runners: &[RunnerId],
    project: Option<ProjectId>,
    at_most: i64,
) -> Result<Vec<CurrentBuild>> {
    // The query scans all running builds, of which there are no more than runners can execute at once.
    const QUERY: &str = "select r.runner_id, r.build_id as id, b.name, r.project_id
         from build_runs r join builds b on b.id = r.build_id
         where r.runner_id = any($1) and ($2::bigint is null or r.project_id = $2) order by r.build_id limit $3";
    let query = sqlx::query_as(QUERY).bind(id_values(runners)).bind(project.map(ProjectId::get)).bind(at_most);
    Ok(query.fetch_all(connection).await?)
}

/// Counts the projects that each of these runners is assigned to, up to `at_most`. Deleted projects do not count.
pub async fn count_projects(
    connection: &mut Connection,
    runners: &[RunnerId],
    at_most: i64,
) -> Result<HashMap<RunnerId, i64>> {
    const QUERY: &str = "select r.id, (select count(*) from (select from runner_projects rp
           join projects p on p.id = rp.project_id
           where rp.runner_id = r.id and p.namespace_id is not null limit $2) counted)
         from unnest($1::bigint[]) r (id)";
    let rows: Vec<(i64, i64)> =
        sqlx::query_as(QUERY).bind(id_values(runners)).bind(at_most).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, count)| (id.into(), count)).collect())
}

/// Returns whether a runner is assigned to a project.
pub async fn is_assigned(connection: &mut Connection, runner: RunnerId, project: ProjectId) -> Result<bool> {
    const QUERY: &str = "select exists (select from runner_projects where runner_id = $1 and project_id = $2)";
    Ok(sqlx::query_scalar(QUERY).bind(runner.get()).bind(project.get()).fetch_one(connection).await?)
}

//! Pipelines of merge requests: those of the heads that a merge request had, in the project of its source branch.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::{PipelineSource, Status};
use holdfast_domain::ids::{MergeRequestId, PipelineId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total};
use crate::{Connection, Result};

/// A pipeline as a merge request shows it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct RequestPipeline {
    #[sqlx(try_from = "i64")]
    pub id: PipelineId,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub sha: String,
    /// The short name of a branch or a tag.
    #[sqlx(rename = "ref")]
    pub ref_name: String,
    #[sqlx(try_from = "String")]
    pub status: Status,
    #[sqlx(try_from = "String")]
    pub source: PipelineSource,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// The columns of the pipeline `p` and of [`JOINS`].
const COLUMNS: &str = "p.id, p.project_id, n.path || '/' || o.path as project_path, p.sha, p.ref, p.status, \
    coalesce(p.source, 'push') as source, p.created_at, p.updated_at, p.started_at, p.finished_at";

/// Joins the project and its namespace to the pipeline `p`.
const JOINS: &str = " join projects o on o.id = p.project_id join namespaces n on n.id = o.namespace_id";

/// Lists the pipelines of the heads of a merge request in the project of its source branch, newest first.
pub async fn list(
    connection: &mut Connection,
    request: MergeRequestId,
    source: ProjectId,
    page: PageRequest,
) -> Result<Page<RequestPipeline>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "p.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from (select distinct encode(v.head, 'hex') as sha from merge_request_versions v ");
            query.push("where v.merge_request_id = ").push_bind(request.get());
            query.push(") head join pipelines p on p.sha = head.sha and p.project_id = ").push_bind(source.get());
        },
        order: "p.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("p").push(JOINS);
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(connection, page).await
}

/// Finds the newest pipeline of a commit.
pub async fn find_newest(connection: &mut Connection, source: ProjectId, sha: &str) -> Result<Option<RequestPipeline>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from pipelines p").push(JOINS);
    query.push(" where p.project_id = ").push_bind(source.get()).push(" and p.sha = ").push_bind(sha);
    query.push(" order by p.id desc limit 1");
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

//! Builds as the API shows them, with their user, runner, commit and artifacts.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ci::file::When;
use holdfast_domain::ci::{PipelineSource, Status};
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder};

use super::pipeline::{CommitSummary, load_user_summaries};
use super::runner::{self, Runner};
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    record: BuildRecord,
    user_id: Option<i64>,
    runner_id: Option<i64>,
}

/// A build with the fields of its pipeline, artifacts and trace.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct BuildRecord {
    #[sqlx(try_from = "i64")]
    pub id: BuildId,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    #[sqlx(try_from = "i64")]
    pub pipeline_id: PipelineId,
    pub name: String,
    pub stage: String,
    #[sqlx(try_from = "String")]
    pub status: Status,
    pub external: bool,
    #[sqlx(try_from = "String")]
    pub run_when: When,
    pub allow_failure: bool,
    pub tags: Vec<String>,
    /// Why the build failed, in the words of [`FailureReason`](holdfast_domain::ci::FailureReason).
    pub failure_reason: Option<String>,
    pub coverage: Option<f64>,
    pub target_url: Option<String>,
    pub description: Option<String>,
    pub created_at: DateTime<Utc>,
    /// Since when the build waits for a runner, or when it began to wait.
    pub queued_at: Option<DateTime<Utc>>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub erased_at: Option<DateTime<Utc>>,
    pub artifacts_name: Option<String>,
    pub artifacts_bytes: Option<i64>,
    pub artifacts_expire_at: Option<DateTime<Utc>>,
    pub trace_bytes: Option<i64>,
    pub r#ref: String,
    pub tag: bool,
    pub sha: String,
    pub commit: Json<CommitSummary>,
    #[sqlx(try_from = "String")]
    pub pipeline_status: Status,
    #[sqlx(try_from = "String")]
    pub pipeline_source: PipelineSource,
    pub pipeline_created_at: DateTime<Utc>,
    pub pipeline_updated_at: DateTime<Utc>,
    /// The path of the project with its namespace. Empty if the project has been deleted.
    pub project_path: String,
}

#[derive(Clone, Debug)]
pub struct Build {
    pub record: BuildRecord,
    pub user: Option<UserSummary>,
    pub runner: Option<Runner>,
}

impl std::ops::Deref for Build {
    type Target = BuildRecord;

    fn deref(&self) -> &BuildRecord {
        &self.record
    }
}

/// The columns of `b` and of [`JOINS`].
const COLUMNS: &str = "\
    b.id, b.project_id, b.pipeline_id, b.user_id, b.runner_id, b.name, b.stage, b.status, \
    b.external, b.run_when, b.allow_failure, b.tags, b.failure_reason, b.coverage, b.target_url, b.description, \
    b.created_at, b.queued_at, b.started_at, b.finished_at, b.erased_at, a.file_name as artifacts_name, \
    a.bytes as artifacts_bytes, a.expires_at as artifacts_expire_at, t.bytes as trace_bytes, p.ref, p.tag, \
    p.sha, p.commit, coalesce(p.source, 'push') as pipeline_source, \
    p.status as pipeline_status, p.created_at as pipeline_created_at, p.updated_at as pipeline_updated_at, \
    coalesce((select n.path || '/' || j.path from projects j join namespaces n on n.id = j.namespace_id \
      where j.id = b.project_id), '') as project_path";

/// Joins the pipeline, the artifacts and the trace to the builds `b`.
const JOINS: &str = " join pipelines p on p.id = b.pipeline_id left join artifacts a on a.build_id = b.id \
     left join traces t on t.build_id = b.id ";

/// Returns a query for builds. `rest` is the condition, and what follows it, such as an order or a lock.
fn select_where(rest: &'static str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from builds b").push(JOINS).push("where ").push(rest);
    query
}

/// Loads the users and runners of builds. Expired artifacts are left out.
async fn with_associations(connection: &mut Connection, mut rows: Vec<Row>, now: DateTime<Utc>) -> Result<Vec<Build>> {
    for record in rows
        .iter_mut()
        .map(|row| &mut row.record)
        .filter(|record| record.artifacts_expire_at.is_some_and(|at| at <= now))
    {
        (record.artifacts_name, record.artifacts_bytes, record.artifacts_expire_at) = (None, None, None);
    }
    let users = load_user_summaries(connection, rows.iter().map(|row| row.user_id)).await?;
    let mut ids: Vec<i64> = rows.iter().filter_map(|row| row.runner_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let runners = if ids.is_empty() { Vec::new() } else { runner::find_many(connection, &ids).await? };
    let runners: HashMap<i64, Runner> = runners.into_iter().map(|it| (it.id.get(), it)).collect();
    let build = |row: Row| Build {
        user: row.user_id.and_then(|id| users.get(&id)).cloned(),
        runner: row.runner_id.and_then(|id| runners.get(&id)).cloned(),
        record: row.record,
    };
    Ok(rows.into_iter().map(build).collect())
}

/// The scope of a list of builds.
#[derive(Clone, Debug)]
pub enum BuildFilter {
    /// Builds of the project with one of these statuses, or with any status if none is given.
    Project(Vec<Status>),
    /// Builds of the project that no retry has superseded, filtered by status in the same way.
    Current(Vec<Status>),
    /// Builds of the pipelines of a commit, filtered by status in the same way.
    Commit(String, Vec<Status>),
    /// Builds of a pipeline, filtered by status in the same way. Only the latest of each name unless
    /// `include_superseded` is set.
    Pipeline { id: PipelineId, statuses: Vec<Status>, include_superseded: bool },
    /// Statuses of a commit: builds and external statuses. Only the latest of each name and pipeline unless
    /// `include_superseded` is set.
    Statuses {
        sha: String,
        ref_name: Option<String>,
        stage: Option<String>,
        name: Option<String>,
        include_superseded: bool,
    },
}

impl BuildFilter {
    /// Writes the part of a query from `from` on that selects the builds `b`.
    fn push_to(&self, query: &mut QueryBuilder<Postgres>, project: ProjectId) {
        query.push("from builds b ");
        if matches!(self, Self::Commit(..) | Self::Statuses { .. }) {
            query.push("join pipelines s on s.id = b.pipeline_id ");
        }
        query.push("where b.project_id = ").push_bind(project.get());
        match self {
            Self::Project(statuses)
            | Self::Current(statuses)
            | Self::Commit(_, statuses)
            | Self::Pipeline { statuses, .. } => {
                query.push(" and not b.external");
                if !statuses.is_empty() {
                    let names: Vec<String> = statuses.iter().map(|it| it.as_str().to_owned()).collect();
                    query.push(" and b.status = any(").push_bind(names).push(")");
                }
            }
            Self::Statuses { .. } => {}
        }
        match self {
            Self::Project(_) | Self::Current(_) => {}
            Self::Commit(sha, _) => {
                query.push(" and s.project_id = ").push_bind(project.get());
                query.push(" and s.sha = ").push_bind(sha.clone());
            }
            Self::Pipeline { id, .. } => {
                query.push(" and b.pipeline_id = ").push_bind(id.get());
            }
            Self::Statuses { sha, ref_name, stage, name, .. } => {
                query.push(" and s.project_id = ").push_bind(project.get());
                query.push(" and s.sha = ").push_bind(sha.clone());
                for (column, value) in [("s.ref", ref_name), ("b.stage", stage), ("b.name", name)] {
                    if let Some(value) = value {
                        query.push(" and ").push(column).push(" = ").push_bind(value.clone());
                    }
                }
            }
        }
        if !self.includes_superseded() {
            query.push(" and b.latest");
        }
    }

    const fn includes_superseded(&self) -> bool {
        match self {
            Self::Project(_) | Self::Commit(..) => true,
            Self::Current(_) => false,
            Self::Pipeline { include_superseded, .. } | Self::Statuses { include_superseded, .. } => {
                *include_superseded
            }
        }
    }
}

/// Lists builds of a project, the newest first.
pub async fn list(
    database: &Database,
    project: ProjectId,
    filter: &BuildFilter,
    page: PageRequest,
    now: DateTime<Utc>,
) -> Result<Page<Build>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "b.*",
        from: |query: &mut QueryBuilder<Postgres>, _| filter.push_to(query, project),
        order: "b.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("b").push(JOINS);
        },
        total: Total::Bounded,
        needs_custom_plan: true,
    };
    let mut connection = database.connection().await?;
    let found: Page<Row> = list.fetch(&mut connection, page).await?;
    let (request, total, has_next) = (found.request, found.total, found.has_next);
    let items = with_associations(&mut connection, found.items, now).await?;
    Ok(Page { items, request, total, has_next })
}

/// Lists the newest builds of a project, or the newest of those that are older than `before`. At most `at_most`.
pub async fn list_before(
    connection: &mut Connection,
    project: ProjectId,
    filter: &BuildFilter,
    before: Option<BuildId>,
    at_most: i64,
    now: DateTime<Utc>,
) -> Result<Vec<Build>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from (select b.* ");
    filter.push_to(&mut query, project);
    if let Some(before) = before {
        query.push(" and b.id < ").push_bind(before.get());
    }
    query.push(" order by b.id desc limit ").push(at_most).push(") b").push(JOINS).push("order by b.id desc");
    // The best plan depends on the statuses, as in the numbered pages.
    let rows = query.build_query_as().persistent(false).fetch_all(&mut *connection).await?;
    with_associations(connection, rows, now).await
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    id: BuildId,
    now: DateTime<Utc>,
) -> Result<Option<Build>> {
    let mut query = select_where("b.project_id = $1 and b.id = $2");
    let query = query.build_query_as().bind(project.get()).bind(id.get());
    let rows = query.fetch_all(&mut *connection).await?;
    Ok(with_associations(connection, rows, now).await?.pop())
}

/// Lists the latest build of each name in a pipeline, sorted by stage.
pub async fn list_latest(connection: &mut Connection, pipeline: PipelineId, now: DateTime<Utc>) -> Result<Vec<Build>> {
    let mut query = select_where("b.pipeline_id = $1 and b.latest order by b.stage_index, b.id");
    let rows = query.build_query_as().bind(pipeline.get()).fetch_all(&mut *connection).await?;
    with_associations(connection, rows, now).await
}

/// Like [`list_latest`], but also lists the newest ten builds with a name that a retry has superseded.
pub async fn list_with_superseded(
    connection: &mut Connection,
    pipeline: PipelineId,
    name: &str,
    now: DateTime<Utc>,
) -> Result<Vec<Build>> {
    let mut query = select_where(
        "b.pipeline_id = $1 and (b.latest or b.id = any(array(\
         select s.id from builds s where s.pipeline_id = $1 and s.name = $2 and not s.latest and not s.external \
         order by s.id desc limit 10))) order by b.stage_index, b.id",
    );
    let rows = query.build_query_as().bind(pipeline.get()).bind(name.to_owned()).fetch_all(&mut *connection).await?;
    with_associations(connection, rows, now).await
}

/// Loads builds by their ids, sorted by id.
pub async fn find_many(connection: &mut Connection, ids: &[BuildId], now: DateTime<Utc>) -> Result<Vec<Build>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let mut query = select_where("b.id = any($1) order by b.id");
    let rows = query.build_query_as().bind(ids).fetch_all(&mut *connection).await?;
    with_associations(connection, rows, now).await
}

/// Finds the latest build with this name in the newest successful pipeline of a ref.
pub async fn find_newest_success(
    connection: &mut Connection,
    project: ProjectId,
    ref_name: &str,
    name: &str,
) -> Result<Option<BuildId>> {
    let id = sqlx::query_scalar!(
        "select b.id from builds b where b.latest and b.name = $3 and b.pipeline_id = (
           select id from pipelines where project_id = $1 and ref = $2 and status = 'success' order by id desc limit 1)",
        project.get(),
        ref_name,
        name,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

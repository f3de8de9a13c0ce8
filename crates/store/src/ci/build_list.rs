//! Builds as they are shown, with what belongs to them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{BuildId, PipelineId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder};

use super::pipeline::{CommitFacts, people};
use super::runner::{self, Runner};
use crate::accounts::user::Person;
use crate::page::{List, Total};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
struct Row {
    #[sqlx(flatten)]
    own: Own,
    user_id: Option<i64>,
    runner_id: Option<i64>,
}

/// What a build says of itself.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Own {
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
    pub run_when: String,
    pub allow_failure: bool,
    pub coverage: Option<f64>,
    pub target_url: Option<String>,
    pub description: Option<String>,
    pub created_at: DateTime<Utc>,
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
    pub commit: Json<CommitFacts>,
    #[sqlx(try_from = "String")]
    pub pipeline_status: Status,
}

#[derive(Clone, Debug)]
pub struct Build {
    pub own: Own,
    pub user: Option<Person>,
    pub runner: Option<Runner>,
}

impl std::ops::Deref for Build {
    type Target = Own;

    fn deref(&self) -> &Own {
        &self.own
    }
}

/// Of `b` and what [`joins`] adds to it.
macro_rules! build_columns {
    () => {
        "b.id, b.project_id, b.pipeline_id, b.user_id, b.runner_id, b.name, b.stage, b.status, \
         b.external, b.run_when, b.allow_failure, b.coverage, b.target_url, b.description, b.created_at, \
         b.started_at, b.finished_at, b.erased_at, a.file_name as artifacts_name, a.bytes as artifacts_bytes, \
         a.expires_at as artifacts_expire_at, t.bytes as trace_bytes, p.ref, p.tag, p.sha, p.commit, \
         p.status as pipeline_status"
    };
}

macro_rules! joins {
    () => {
        " join pipelines p on p.id = b.pipeline_id left join artifacts a on a.build_id = b.id \
         left join traces t on t.build_id = b.id "
    };
}

/// Files whose time is over are not there.
async fn complete(connection: &mut Connection, mut rows: Vec<Row>, now: DateTime<Utc>) -> Result<Vec<Build>> {
    for own in rows.iter_mut().map(|row| &mut row.own).filter(|own| own.artifacts_expire_at.is_some_and(|at| at <= now))
    {
        (own.artifacts_name, own.artifacts_bytes, own.artifacts_expire_at) = (None, None, None);
    }
    let users = people(connection, rows.iter().map(|row| row.user_id)).await?;
    let mut ids: Vec<i64> = rows.iter().filter_map(|row| row.runner_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let runners = if ids.is_empty() { Vec::new() } else { runner::some(connection, &ids).await? };
    let runners: HashMap<i64, Runner> = runners.into_iter().map(|it| (it.id.get(), it)).collect();
    let build = |row: Row| Build {
        user: row.user_id.and_then(|id| users.get(&id)).cloned(),
        runner: row.runner_id.and_then(|id| runners.get(&id)).cloned(),
        own: row.own,
    };
    Ok(rows.into_iter().map(build).collect())
}

/// Whose builds are listed.
#[derive(Clone, Debug)]
pub enum Of {
    /// Builds of these statuses; all if there are none.
    Project(Vec<Status>),
    /// Builds of pipelines of a commit.
    Commit(String, Vec<Status>),
    /// All that is said of a commit, by builds and by others; the newest of each name and pipeline unless all are wanted.
    Statuses { sha: String, ref_name: Option<String>, stage: Option<String>, name: Option<String>, all: bool },
}

/// Newest first.
pub async fn list(
    database: &Database,
    project: ProjectId,
    of: &Of,
    page: PageRequest,
    now: DateTime<Utc>,
) -> Result<Page<Build>> {
    let words = |statuses: &[Status]| statuses.iter().map(|it| it.word().to_owned()).collect::<Vec<_>>();
    let list = List {
        columns: build_columns!(),
        rows: "b.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from builds b ");
            if !matches!(of, Of::Project(_)) {
                query.push("join pipelines s on s.id = b.pipeline_id ");
            }
            query.push("where b.project_id = ").push_bind(project.get());
            match of {
                Of::Project(statuses) | Of::Commit(_, statuses) => {
                    query.push(" and not b.external");
                    if !statuses.is_empty() {
                        query.push(" and b.status = any(").push_bind(words(statuses)).push(")");
                    }
                }
                Of::Statuses { .. } => {}
            }
            match of {
                Of::Project(_) => {}
                Of::Commit(sha, _) => {
                    query.push(" and s.project_id = ").push_bind(project.get());
                    query.push(" and s.sha = ").push_bind(sha.clone());
                }
                Of::Statuses { sha, ref_name, stage, name, all } => {
                    query.push(" and s.project_id = ").push_bind(project.get());
                    query.push(" and s.sha = ").push_bind(sha.clone());
                    for (column, value) in [("s.ref", ref_name), ("b.stage", stage), ("b.name", name)] {
                        if let Some(value) = value {
                            query.push(" and ").push(column).push(" = ").push_bind(value.clone());
                        }
                    }
                    if !all {
                        query.push(" and b.latest");
                    }
                }
            }
        },
        order: "b.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push(concat!("b", joins!()));
        },
        total: Total::Bounded,
        varies: true,
    };
    let mut connection = database.connection().await?;
    let found: Page<Row> = list.fetch(&mut connection, page).await?;
    let (request, total, has_next) = (found.request, found.total, found.has_next);
    let items = complete(&mut connection, found.items, now).await?;
    Ok(Page { items, request, total, has_next })
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    id: BuildId,
    now: DateTime<Utc>,
) -> Result<Option<Build>> {
    const QUERY: &str =
        concat!("select ", build_columns!(), " from builds b", joins!(), "where b.project_id = $1 and b.id = $2");
    let rows = sqlx::query_as(QUERY).bind(project.get()).bind(id.get()).fetch_all(&mut *connection).await?;
    Ok(complete(connection, rows, now).await?.pop())
}

/// The newest of each name in a pipeline, by stage.
pub async fn of_pipeline(connection: &mut Connection, pipeline: PipelineId, now: DateTime<Utc>) -> Result<Vec<Build>> {
    const QUERY: &str = concat!(
        "select ",
        build_columns!(),
        " from builds b",
        joins!(),
        "where b.pipeline_id = $1 and b.latest order by b.stage_index, b.id"
    );
    let rows = sqlx::query_as(QUERY).bind(pipeline.get()).fetch_all(&mut *connection).await?;
    complete(connection, rows, now).await
}

/// Some of a pipeline.
pub async fn some(connection: &mut Connection, ids: &[BuildId], now: DateTime<Utc>) -> Result<Vec<Build>> {
    const QUERY: &str =
        concat!("select ", build_columns!(), " from builds b", joins!(), "where b.id = any($1) order by b.id");
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let rows = sqlx::query_as(QUERY).bind(ids).fetch_all(&mut *connection).await?;
    complete(connection, rows, now).await
}

/// The build of that name in the newest pipeline of a ref that succeeded.
pub async fn newest_success(
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

//! Pipelines. The row lock of a pipeline also protects the state of its builds.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ci::{PipelineSource, Status};
use holdfast_domain::ids::{PipelineId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::{self, UserSummary};
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// The part of a commit that is shown with its pipelines and builds. It is stored with the pipeline, so that lists read
/// no repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommitSummary {
    pub id: String,
    pub message: String,
    pub author_name: String,
    pub author_email: String,
    pub committer_name: String,
    pub committer_email: String,
    /// The date of the commit, with its original UTC offset.
    pub created_at: String,
}

#[derive(Clone, Debug, sqlx::FromRow)]
struct Row {
    id: i64,
    project_id: i64,
    user_id: Option<i64>,
    r#ref: String,
    tag: bool,
    sha: String,
    before_sha: String,
    commit: Json<CommitSummary>,
    #[sqlx(try_from = "String")]
    status: Status,
    #[sqlx(try_from = "String")]
    source: PipelineSource,
    yaml_errors: Option<String>,
    duration: Option<i64>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    project_path: String,
}

/// The columns of the pipelines `p`.
const COLUMNS: &str = "\
    p.id, p.project_id, p.user_id, p.ref, p.tag, p.sha, p.before_sha, p.commit, p.status, \
    coalesce(p.source, 'push') as source, p.yaml_errors, p.duration, \
    p.created_at, p.updated_at, p.started_at, p.finished_at, coalesce((select n.path || '/' || j.path \
      from projects j join namespaces n on n.id = j.namespace_id where j.id = p.project_id), '') as project_path";

/// Returns a query for pipelines. `rest` is the condition, and what follows it, such as an order or a lock.
fn select_where(rest: &'static str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from pipelines p where ").push(rest);
    query
}

#[derive(Clone, Debug)]
pub struct Pipeline {
    pub id: PipelineId,
    pub project_id: ProjectId,
    pub user_id: Option<UserId>,
    /// None if the pipeline has no user, or if the user has been deleted.
    pub user: Option<UserSummary>,
    /// The short name of a branch or a tag.
    pub ref_name: String,
    pub tag: bool,
    pub sha: String,
    pub before_sha: String,
    pub commit: CommitSummary,
    pub status: Status,
    pub source: PipelineSource,
    pub yaml_errors: Option<String>,
    /// The duration in seconds.
    pub duration: Option<i64>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    /// The path of the project with its namespace. Empty if the project has been deleted.
    pub project_path: String,
}

impl Row {
    fn into_pipeline(self, users: &HashMap<i64, UserSummary>) -> Pipeline {
        Pipeline {
            id: self.id.into(),
            project_id: self.project_id.into(),
            user_id: self.user_id.map(Into::into),
            user: self.user_id.and_then(|id| users.get(&id)).cloned(),
            ref_name: self.r#ref,
            tag: self.tag,
            sha: self.sha,
            before_sha: self.before_sha,
            commit: self.commit.0,
            status: self.status,
            source: self.source,
            yaml_errors: self.yaml_errors,
            duration: self.duration,
            created_at: self.created_at,
            updated_at: self.updated_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            project_path: self.project_path,
        }
    }
}

/// Loads the summaries of users, keyed by id.
pub(super) async fn load_user_summaries(
    connection: &mut Connection,
    ids: impl Iterator<Item = Option<i64>>,
) -> Result<HashMap<i64, UserSummary>> {
    let mut ids: Vec<i64> = ids.flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(user::find_summaries(connection, &ids).await?.into_iter().map(|summary| (summary.id.get(), summary)).collect())
}

async fn with_associations(connection: &mut Connection, row: Option<Row>) -> Result<Option<Pipeline>> {
    let Some(row) = row else { return Ok(None) };
    let users = load_user_summaries(connection, [row.user_id].into_iter()).await?;
    Ok(Some(row.into_pipeline(&users)))
}

/// The filters and the order of a list of pipelines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineFilter {
    /// The short name of a branch or a tag.
    pub ref_name: Option<String>,
    /// The id of a commit.
    pub sha: Option<String>,
    /// A status. There is an index for it only together with a commit, and for successful pipelines of a ref.
    pub status: Option<Status>,
    pub oldest_first: bool,
}

/// Lists the pipelines of a project, by default the newest first.
pub async fn list(
    database: &Database,
    project: ProjectId,
    filter: &PipelineFilter,
    page: PageRequest,
) -> Result<Page<Pipeline>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "p.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from pipelines p where p.project_id = ").push_bind(project.get());
            for (column, value) in [("p.ref", &filter.ref_name), ("p.sha", &filter.sha)] {
                if let Some(value) = value {
                    query.push(" and ").push(column).push(" = ").push_bind(value.clone());
                }
            }
            if let Some(status) = filter.status {
                // A literal, so that the planner knows that the index of successful pipelines applies.
                query.push(" and p.status = '").push(status.as_str()).push("'");
            }
        },
        order: if filter.oldest_first { "p.id" } else { "p.id desc" },
        page: table_alias("p"),
        total: Total::Bounded,
        needs_custom_plan: *filter != PipelineFilter::default(),
    };
    let mut connection = database.connection().await?;
    let found: Page<Row> = list.fetch(&mut connection, page).await?;
    let users = load_user_summaries(&mut connection, found.items.iter().map(|row| row.user_id)).await?;
    Ok(found.map(|row| row.into_pipeline(&users)))
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: PipelineId) -> Result<Option<Pipeline>> {
    let mut query = select_where("p.project_id = $1 and p.id = $2");
    let query = query.build_query_as().bind(project.get()).bind(id.get());
    let row = query.fetch_optional(&mut *connection).await?;
    with_associations(connection, row).await
}

/// Returns the variables of the request that created a pipeline, encrypted. Returns None if there is no such pipeline.
pub async fn find_variables(
    connection: &mut Connection,
    project: ProjectId,
    id: PipelineId,
) -> Result<Option<Option<Vec<u8>>>> {
    const QUERY: &str = "select variables from pipelines where project_id = $1 and id = $2";
    Ok(sqlx::query_scalar(QUERY).bind(project.get()).bind(id.get()).fetch_optional(connection).await?)
}

/// Like [`find`], but in any project, and locks the pipeline until the end of the transaction. This also keeps the
/// state of its builds from changing.
pub async fn lock(connection: &mut Connection, id: PipelineId) -> Result<Option<Pipeline>> {
    let mut query = select_where("p.id = $1 for no key update of p");
    let row = query.build_query_as().bind(id.get()).fetch_optional(&mut *connection).await?;
    with_associations(connection, row).await
}

/// Finds the newest pipeline of a commit, on one ref if `ref_name` is given.
pub async fn find_newest_for_commit(
    connection: &mut Connection,
    project: ProjectId,
    sha: &str,
    ref_name: Option<&str>,
) -> Result<Option<PipelineId>> {
    let id = sqlx::query_scalar!(
        "select id from pipelines where project_id = $1 and sha = $2 and ($3::text is null or ref = $3)
         order by id desc limit 1",
        project.get(),
        sha,
        ref_name,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// A pipeline as lists of commits show it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct CommitPipeline {
    /// The id of the commit.
    pub sha: String,
    #[sqlx(try_from = "i64")]
    pub id: PipelineId,
    #[sqlx(try_from = "String")]
    pub status: Status,
}

/// Lists the newest pipeline of each of these commits that has one.
pub async fn list_newest_for_commits(
    connection: &mut Connection,
    project: ProjectId,
    shas: &[String],
) -> Result<Vec<CommitPipeline>> {
    let statement = "select newest.sha, newest.id, newest.status from unnest($2::text[]) as wanted(sha)
         cross join lateral (select p.sha, p.id, p.status from pipelines p
             where p.project_id = $1 and p.sha = wanted.sha order by p.id desc limit 1) newest";
    Ok(sqlx::query_as::<_, CommitPipeline>(statement).bind(project.get()).bind(shas).fetch_all(connection).await?)
}

pub struct NewPipeline<'a> {
    pub project: ProjectId,
    pub user: Option<UserId>,
    pub ref_name: &'a str,
    pub tag: bool,
    pub sha: &'a str,
    pub before_sha: &'a str,
    pub commit: &'a CommitSummary,
    pub status: Status,
    pub source: PipelineSource,
    pub yaml_errors: Option<&'a str>,
    /// The generation of the ref update that the pipeline is created for, if it is created for a push.
    pub generation: Option<i64>,
    /// Variables of the request, encrypted.
    pub variables: Option<&'a [u8]>,
    pub triggered_by: Option<i64>,
}

/// Inserts a pipeline. Returns None if one for the same ref update exists already.
pub async fn insert(
    connection: &mut Connection,
    new: NewPipeline<'_>,
    now: DateTime<Utc>,
) -> Result<Option<PipelineId>> {
    const QUERY: &str = "insert into pipelines (project_id, user_id, ref, tag, sha, before_sha, commit, status,
           yaml_errors, generation, variables, trigger_id, created_at, updated_at, source)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14)
         on conflict (project_id, generation, ref, tag) where generation is not null do nothing returning id";
    let id: Option<i64> = sqlx::query_scalar(QUERY)
        .bind(new.project.get())
        .bind(new.user.map(UserId::get))
        .bind(new.ref_name)
        .bind(new.tag)
        .bind(new.sha)
        .bind(new.before_sha)
        .bind(Json(new.commit))
        .bind(new.status.as_str())
        .bind(new.yaml_errors)
        .bind(new.generation)
        .bind(new.variables)
        .bind(new.triggered_by)
        .bind(now)
        .bind(new.source.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(id.map(Into::into))
}

/// Saves the state of a pipeline.
pub async fn save(connection: &mut Connection, pipeline: &Pipeline) -> Result<()> {
    sqlx::query!(
        "update pipelines set status = $2, duration = $3, updated_at = $4, started_at = $5, finished_at = $6 where id = $1",
        pipeline.id.get(),
        pipeline.status.as_str(),
        pipeline.duration,
        pipeline.updated_at,
        pipeline.started_at,
        pipeline.finished_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a batch of the pipelines of a project and returns how many were deleted. The caller has deleted the builds.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, at_most: i64) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from pipelines where id in (select id from pipelines where project_id = $1 limit $2)",
        project.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Like [`lock`], but does not load the pipeline.
pub async fn lock_row(connection: &mut Connection, id: PipelineId) -> Result<()> {
    sqlx::query!("select id from pipelines where id = $1 for no key update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

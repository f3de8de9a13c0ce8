//! Runners, their registration tokens, and their assignment to projects.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, RunnerId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Runner {
    #[sqlx(try_from = "i64")]
    pub id: RunnerId,
    pub description: Option<String>,
    pub active: bool,
    pub shared: bool,
    pub locked: bool,
    pub run_untagged: bool,
    pub tags: Vec<String>,
    /// The maximum duration of a build on this runner, in seconds.
    pub max_run_seconds: Option<i32>,
    #[sqlx(flatten)]
    pub info: RunnerInfo,
    pub contacted_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// The information that a runner reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct RunnerInfo {
    pub name: Option<String>,
    pub version: Option<String>,
    pub revision: Option<String>,
    pub platform: Option<String>,
    pub architecture: Option<String>,
}

/// The columns of the runners `r`.
const COLUMNS: &str = "\
    r.id, r.description, r.active, r.shared, r.locked, r.run_untagged, r.tags, r.longest_run as max_run_seconds, \
    r.name, r.version, r.revision, r.platform, r.architecture, r.contacted_at, r.created_at";

/// Returns a query for runners. `rest` is the condition, and what follows it, such as an order or a lock.
fn select_where(rest: &'static str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from runners r where ").push(rest);
    query
}

/// The attributes of a runner that users set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerAttributes {
    pub description: Option<String>,
    pub active: bool,
    pub locked: bool,
    pub run_untagged: bool,
    pub tags: Vec<String>,
    pub max_run_seconds: Option<i32>,
}

/// The scope of a registration token: shared runners of the instance, or runners of one project.
pub enum RegistrationScope {
    Instance,
    Project(ProjectId),
}

pub async fn find_registration_scope(connection: &mut Connection, token: &str) -> Result<Option<RegistrationScope>> {
    let row = sqlx::query!(
        r#"select exists (select from runner_registration where token = $1) as "instance!",
             (select id from projects where runners_token = $1 and $1 <> '' and namespace_id is not null and builds_enabled
                order by id limit 1) as project"#,
        token,
    )
    .fetch_one(connection)
    .await?;
    Ok(match row.project {
        _ if row.instance => Some(RegistrationScope::Instance),
        Some(id) => Some(RegistrationScope::Project(id.into())),
        None => None,
    })
}

pub async fn registration_token(connection: &mut Connection) -> Result<String> {
    Ok(sqlx::query_scalar!("select token from runner_registration").fetch_one(connection).await?)
}

pub async fn set_registration_token(connection: &mut Connection, token: &str) -> Result<()> {
    sqlx::query!("update runner_registration set token = $1", token).execute(connection).await?;
    Ok(())
}

pub async fn insert(
    connection: &mut Connection,
    scope: &RegistrationScope,
    token_digest: &[u8],
    attributes: &RunnerAttributes,
    info: &RunnerInfo,
    now: DateTime<Utc>,
) -> Result<RunnerId> {
    let is_shared = matches!(scope, RegistrationScope::Instance);
    let id = sqlx::query_scalar!(
        "insert into runners (token_digest, description, active, shared, locked, run_untagged, tags, longest_run, name,
           version, revision, platform, architecture, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id",
        token_digest,
        attributes.description,
        attributes.active,
        is_shared,
        attributes.locked,
        attributes.run_untagged,
        &attributes.tags,
        attributes.max_run_seconds,
        info.name,
        info.version,
        info.revision,
        info.platform,
        info.architecture,
        now,
    )
    .fetch_one(&mut *connection)
    .await?;
    if let RegistrationScope::Project(project) = scope {
        assign(connection, id.into(), *project).await?;
    }
    Ok(id.into())
}

/// Assigns a runner to a project. Returns false if it is already assigned.
pub async fn assign(connection: &mut Connection, id: RunnerId, project: ProjectId) -> Result<bool> {
    let added = sqlx::query!(
        "insert into runner_projects (runner_id, project_id) values ($1, $2) on conflict do nothing",
        id.get(),
        project.get(),
    )
    .execute(connection)
    .await?;
    Ok(added.rows_affected() > 0)
}

pub async fn unassign(connection: &mut Connection, id: RunnerId, project: ProjectId) -> Result<()> {
    sqlx::query!("delete from runner_projects where runner_id = $1 and project_id = $2", id.get(), project.get())
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn find_by_token(connection: &mut Connection, token_digest: &[u8]) -> Result<Option<Runner>> {
    Ok(select_where("r.token_digest = $1").build_query_as().bind(token_digest).fetch_optional(connection).await?)
}

pub async fn find(connection: &mut Connection, id: RunnerId) -> Result<Option<Runner>> {
    Ok(select_where("r.id = $1").build_query_as().bind(id.get()).fetch_optional(connection).await?)
}

/// Like [`find`], but locks the runner until the end of the transaction. Changes of the runner and of its projects
/// require this lock.
pub async fn lock(connection: &mut Connection, id: RunnerId) -> Result<Option<Runner>> {
    Ok(select_where("r.id = $1 for no key update").build_query_as().bind(id.get()).fetch_optional(connection).await?)
}

pub(super) async fn find_many(connection: &mut Connection, ids: &[i64]) -> Result<Vec<Runner>> {
    Ok(select_where("r.id = any($1)").build_query_as().bind(ids).fetch_all(connection).await?)
}

/// The scope of a list of runners.
#[derive(Clone, Copy, Debug)]
pub enum RunnerScope {
    /// Runners of projects that the user owns or has at least the access level Master in.
    ManagedBy {
        user: UserId,
        today: chrono::NaiveDate,
    },
    All,
    /// Runners of the project, and shared runners.
    Project(ProjectId),
}

/// The conditions that all listed runners satisfy. None does not restrict the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerFilter {
    pub is_active: Option<bool>,
    pub is_shared: Option<bool>,
    pub last_contact: Option<LastContact>,
    /// Tags that the runner has.
    pub tags: Vec<String>,
    /// Only runners that this project can enable: they are neither shared nor locked nor assigned to it.
    pub can_be_enabled_for: Option<ProjectId>,
}

/// The time at which runners contacted the server last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastContact {
    Never,
    After(DateTime<Utc>),
    /// At this time or earlier.
    Until(DateTime<Utc>),
    /// After the first of these times, and not after the second.
    Between(DateTime<Utc>, DateTime<Utc>),
}

pub async fn list(
    database: &Database,
    scope: RunnerScope,
    filter: &RunnerFilter,
    page: PageRequest,
) -> Result<Page<Runner>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "r.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from runners r where ");
            match scope {
                RunnerScope::All => {
                    query.push("true");
                }
                RunnerScope::Project(project) => {
                    query.push("r.id in (select id from runners where shared union all select runner_id from runner_projects where project_id = ");
                    query.push_bind(project.get()).push(")");
                }
                RunnerScope::ManagedBy { user, today } => {
                    query.push(
                        "r.id in (select rp.runner_id from runner_projects rp join projects p on p.id = rp.project_id ",
                    );
                    query.push("join namespaces n on n.id = p.namespace_id where n.owner_id = ").push_bind(user.get());
                    query.push(" union select rp.runner_id from project_members m join runner_projects rp on rp.project_id = m.project_id ");
                    query.push("where m.access_level >= 40 and m.user_id = ").push_bind(user.get());
                    query.push(" and (m.expires_at is null or m.expires_at > ").push_bind(today).push(")");
                    query.push(" union select rp.runner_id from group_members m join projects p on p.namespace_id = m.group_id ");
                    query.push(
                        "join runner_projects rp on rp.project_id = p.id where m.access_level >= 40 and m.user_id = ",
                    );
                    query.push_bind(user.get());
                    query.push(" and (m.expires_at is null or m.expires_at > ").push_bind(today).push("))");
                }
            }
            for (column, value) in [("r.active", filter.is_active), ("r.shared", filter.is_shared)] {
                if let Some(value) = value {
                    query.push(if value { " and " } else { " and not " }).push(column);
                }
            }
            let (after, until) = match filter.last_contact {
                None => (None, None),
                Some(LastContact::Never) => {
                    query.push(" and r.contacted_at is null");
                    (None, None)
                }
                Some(LastContact::After(time)) => (Some(time), None),
                Some(LastContact::Until(time)) => (None, Some(time)),
                Some(LastContact::Between(after, until)) => (Some(after), Some(until)),
            };
            for (operator, time) in [(">", after), ("<=", until)] {
                if let Some(time) = time {
                    query.push(" and r.contacted_at ").push(operator).push(" ").push_bind(time);
                }
            }
            if !filter.tags.is_empty() {
                query.push(" and r.tags @> ").push_bind(filter.tags.clone());
            }
            if let Some(project) = filter.can_be_enabled_for {
                query.push(" and not r.shared and not r.locked and not exists (select from runner_projects rp ");
                query.push("where rp.runner_id = r.id and rp.project_id = ").push_bind(project.get()).push(")");
            }
        },
        order: "r.id",
        page: table_alias("r"),
        total: Total::Bounded,
        needs_custom_plan: true,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Lists the projects that a runner is assigned to, up to `at_most`. Deleted projects are left out.
pub async fn list_project_ids(connection: &mut Connection, id: RunnerId, at_most: i64) -> Result<Vec<ProjectId>> {
    let rows = sqlx::query_scalar!(
        "select rp.project_id from runner_projects rp join projects p on p.id = rp.project_id
         where rp.runner_id = $1 and p.namespace_id is not null order by rp.project_id limit $2",
        id.get(),
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

pub async fn update(connection: &mut Connection, id: RunnerId, attributes: &RunnerAttributes) -> Result<()> {
    sqlx::query!(
        "update runners set description = $2, active = $3, locked = $4, run_untagged = $5, tags = $6, longest_run = $7
         where id = $1",
        id.get(),
        attributes.description,
        attributes.active,
        attributes.locked,
        attributes.run_untagged,
        &attributes.tags,
        attributes.max_run_seconds,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Records that a runner contacted the server, and the information it reports. Fields that it does not report keep
/// their values.
pub async fn record_contact(
    connection: &mut Connection,
    id: RunnerId,
    info: &RunnerInfo,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update runners set contacted_at = $2, name = coalesce($3, name), version = coalesce($4, version),
           revision = coalesce($5, revision), platform = coalesce($6, platform), architecture = coalesce($7, architecture)
         where id = $1",
        id.get(),
        now,
        info.name,
        info.version,
        info.revision,
        info.platform,
        info.architecture,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn set_token(connection: &mut Connection, id: RunnerId, token_digest: &[u8]) -> Result<()> {
    sqlx::query!("update runners set token_digest = $2 where id = $1", id.get(), token_digest)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, id: RunnerId) -> Result<()> {
    sqlx::query!("delete from runners where id = $1", id.get()).execute(connection).await?;
    Ok(())
}

/// Removes the runners of a project from it, and deletes those that are assigned to no other project.
pub async fn delete_for_project(connection: &mut Connection, project: ProjectId) -> Result<()> {
    sqlx::query!(
        "with own as (delete from runner_projects where project_id = $1 returning runner_id)
         delete from runners r using own where r.id = own.runner_id
           and not exists (select from runner_projects rp where rp.runner_id = r.id and rp.project_id <> $1)",
        project.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

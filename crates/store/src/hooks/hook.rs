//! Webhooks of projects and system hooks of the instance, with their tokens.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{HookId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::migrate::is_applied_for_a_day;
use crate::page::{PagedQuery, Total};
use crate::{Connection, Database, Result};

/// The owner of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOwner {
    Project(ProjectId),
    Instance,
}

impl HookOwner {
    pub(crate) fn project(self) -> Option<i64> {
        match self {
            Self::Project(id) => Some(id.get()),
            Self::Instance => None,
        }
    }
}

/// A hook without its token.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Hook {
    #[sqlx(try_from = "i64")]
    pub id: HookId,
    project_id: Option<i64>,
    pub url: String,
    #[sqlx(flatten)]
    pub subscriptions: EventSubscriptions,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    /// The time of the first failure since the last successful delivery.
    pub failing_since: Option<DateTime<Utc>>,
    pub paused_at: Option<DateTime<Utc>>,
}

impl Hook {
    pub fn project_id(&self) -> Option<ProjectId> {
        self.project_id.map(Into::into)
    }
}

/// The events that a hook subscribes to, and whether the certificate of its receiver is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct EventSubscriptions {
    pub push_events: bool,
    pub tag_push_events: bool,
    pub issues_events: bool,
    pub merge_requests_events: bool,
    pub note_events: bool,
    pub build_events: bool,
    pub pipeline_events: bool,
    pub wiki_page_events: bool,
    pub enable_ssl_verification: bool,
}

/// The columns of a hook `h` and of its queue `q`.
const COLUMNS: &str = "\
    h.id, h.project_id, h.url, h.push_events, h.tag_push_events, h.issues_events, h.merge_requests_events, \
    h.note_events, h.build_events, h.pipeline_events, h.wiki_page_events, h.enable_ssl_verification, h.created_at, \
    h.updated_at, q.failing_since, q.paused_at";

/// Lists the hooks of a project or of the instance, the newest first.
pub async fn list(database: &Database, owner: HookOwner, page: PageRequest) -> Result<Page<Hook>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "h.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            match owner {
                HookOwner::Project(id) => query.push("from hooks h where h.project_id = ").push_bind(id.get()),
                HookOwner::Instance => query.push("from hooks h where h.project_id is null"),
            };
        },
        order: "h.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("h join hook_queues q on q.hook_id = h.id");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, owner: HookOwner, id: HookId) -> Result<Option<Hook>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from hooks h join hook_queues q on q.hook_id = h.id where h.id = ").push_bind(id.get());
    query.push(" and h.project_id is not distinct from ").push_bind(owner.project());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Locks the hook's row, and that of its queue, until the end of the transaction. Does nothing if there is no such hook.
pub async fn lock(connection: &mut Connection, owner: HookOwner, id: HookId) -> Result<()> {
    // The queue row is locked before the hook row, as by a deletion.
    const QUERY: &str = "\
        with q as materialized ( \
          select q.hook_id from hook_queues q join hooks h on h.id = q.hook_id \
          where h.project_id is not distinct from $1 and h.id = $2 for no key update of q \
        ) \
        select h.id from hooks h join q on q.hook_id = h.id for no key update of h";
    sqlx::query(QUERY).bind(owner.project()).bind(id.get()).execute(connection).await?;
    Ok(())
}

pub async fn insert(
    connection: &mut Connection,
    owner: HookOwner,
    url: &str,
    subscriptions: EventSubscriptions,
    now: DateTime<Utc>,
) -> Result<Hook> {
    let mut query = QueryBuilder::new(
        "with h as (insert into hooks (project_id, url, push_events, tag_push_events, issues_events, \
           merge_requests_events, note_events, build_events, pipeline_events, wiki_page_events, \
           enable_ssl_verification, created_at, updated_at) \
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning *), \
         q as (insert into hook_queues (hook_id) select id from h returning *) \
         select ",
    );
    query.push(COLUMNS).push(" from h, q");
    let query = query.build_query_as().bind(owner.project()).bind(url);
    let query = query
        .bind(subscriptions.push_events)
        .bind(subscriptions.tag_push_events)
        .bind(subscriptions.issues_events)
        .bind(subscriptions.merge_requests_events);
    let query = query
        .bind(subscriptions.note_events)
        .bind(subscriptions.build_events)
        .bind(subscriptions.pipeline_events)
        .bind(subscriptions.wiki_page_events);
    Ok(query.bind(subscriptions.enable_ssl_verification).bind(now).fetch_one(connection).await?)
}

/// Updates a hook without changing its token.
pub async fn update(
    connection: &mut Connection,
    owner: HookOwner,
    id: HookId,
    url: &str,
    subscriptions: EventSubscriptions,
    now: DateTime<Utc>,
) -> Result<()> {
    const QUERY: &str = "\
        update hooks h set url = $3, push_events = $4, \
          tag_push_events = $5, issues_events = $6, merge_requests_events = $7, note_events = $8, build_events = $9, \
          pipeline_events = $10, wiki_page_events = $11, enable_ssl_verification = $12, updated_at = $13 \
        where h.project_id is not distinct from $1 and h.id = $2";
    let query = sqlx::query(QUERY).bind(owner.project()).bind(id.get()).bind(url);
    let query = query
        .bind(subscriptions.push_events)
        .bind(subscriptions.tag_push_events)
        .bind(subscriptions.issues_events)
        .bind(subscriptions.merge_requests_events);
    let query = query
        .bind(subscriptions.note_events)
        .bind(subscriptions.build_events)
        .bind(subscriptions.pipeline_events)
        .bind(subscriptions.wiki_page_events);
    query.bind(subscriptions.enable_ssl_verification).bind(now).execute(connection).await?;
    Ok(())
}

/// The token of a hook as it is stored: encrypted, or in clear if there is no key or if [`can_encrypt_tokens`] returns
/// false. Both are None for a hook without a token. Both are set if a node of the version before set a token after one
/// was encrypted; then the clear token is valid.
#[derive(Clone, Debug, Default)]
pub struct StoredToken {
    pub clear: Option<String>,
    pub encrypted: Option<Vec<u8>>,
}

impl StoredToken {
    pub fn is_set(&self) -> bool {
        self.clear.is_some() || self.encrypted.is_some()
    }
}

/// The version of the migration that added `sealed_token`.
const SEALED_TOKEN_MIGRATION: i64 = 12;

/// Returns whether all nodes can read encrypted tokens. Nodes of the version before read only the column `token`, and
/// may still run for a day after the migration.
pub async fn can_encrypt_tokens(connection: &mut Connection) -> Result<bool> {
    is_applied_for_a_day(connection, SEALED_TOKEN_MIGRATION).await
}

/// Sets or, with an empty [`StoredToken`], removes the token of a hook.
pub async fn set_token(connection: &mut Connection, id: HookId, token: &StoredToken) -> Result<()> {
    sqlx::query!(
        "update hooks set token = $2, sealed_token = $3 where id = $1",
        id.get(),
        token.clear,
        token.encrypted
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Finds an encrypted token of any hook, with the hook's id.
pub async fn find_encrypted_token(connection: &mut Connection) -> Result<Option<(HookId, Vec<u8>)>> {
    let row =
        sqlx::query!(r#"select id, sealed_token as "sealed_token!" from hooks where sealed_token is not null limit 1"#)
            .fetch_optional(connection)
            .await?;
    Ok(row.map(|row| (row.id.into(), row.sealed_token)))
}

/// Returns a batch of tokens that are stored in clear, with the ids of their hooks.
pub async fn next_clear_token_batch(connection: &mut Connection, at_most: i64) -> Result<Vec<(HookId, String)>> {
    let rows = sqlx::query!(
        r#"select id, token as "token!" from hooks where token is not null order by id limit $1"#,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.token)).collect())
}

/// Replaces clear tokens by their encrypted form. Tokens that were changed meanwhile are skipped.
pub async fn set_encrypted_batch(connection: &mut Connection, batch: &[(HookId, String, Vec<u8>)]) -> Result<()> {
    let ids: Vec<i64> = batch.iter().map(|(id, ..)| id.get()).collect();
    let clear: Vec<&str> = batch.iter().map(|(_, clear, _)| clear.as_str()).collect();
    let encrypted: Vec<&[u8]> = batch.iter().map(|(.., encrypted)| encrypted.as_slice()).collect();
    sqlx::query!(
        "update hooks h set token = null, sealed_token = b.sealed
         from unnest($1::bigint[], $2::text[], $3::bytea[]) b (id, clear, sealed) where h.id = b.id and h.token = b.clear",
        &ids,
        &clear as &[&str],
        &encrypted as &[&[u8]],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Counts the hooks of an owner, up to `at_most`.
pub async fn count(connection: &mut Connection, owner: HookOwner, at_most: i64) -> Result<i64> {
    const OF_PROJECT: &str = "select count(*) from (select from hooks where project_id = $1 limit $2) h";
    const OF_INSTANCE: &str =
        "select count(*) from (select from hooks where $1::bigint is null and project_id is null limit $2) h";
    let query = if owner.project().is_some() { OF_PROJECT } else { OF_INSTANCE };
    Ok(sqlx::query_scalar(query).bind(owner.project()).bind(at_most).fetch_one(connection).await?)
}

/// Deletes a hook and returns it as it was before.
pub async fn delete(connection: &mut Connection, owner: HookOwner, id: HookId) -> Result<Option<Hook>> {
    // The queue row is locked before the hook row, in the same order as when a dispatcher releases the hook.
    let mut query = QueryBuilder::new(
        "with q as materialized (select * from hook_queues where hook_id = $2 for update) \
         delete from hooks h using q \
         where h.project_id is not distinct from $1 and h.id = $2 and q.hook_id = h.id returning ",
    );
    query.push(COLUMNS);
    Ok(query.build_query_as().bind(owner.project()).bind(id.get()).fetch_optional(connection).await?)
}

/// Deletes a batch of the hooks of a project and returns how many were deleted. Locks their queues in the order of hook
/// ids, like all code.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, at_most: i64) -> Result<u64> {
    let hook_ids = sqlx::query_scalar!(
        "select q.hook_id from hook_queues q join hooks h on h.id = q.hook_id where h.project_id = $1
         order by q.hook_id limit $2 for update of q",
        project.get(),
        at_most,
    )
    .fetch_all(&mut *connection)
    .await?;
    let deleted = sqlx::query!("delete from hooks where id = any($1)", &hook_ids).execute(connection).await?;
    Ok(deleted.rows_affected())
}

/// Returns whether any hook of a project subscribes to build events, and whether any subscribes to pipeline events.
pub async fn ci_subscriptions(connection: &mut Connection, project: ProjectId) -> Result<(bool, bool)> {
    let row = sqlx::query!(
        r#"select coalesce(bool_or(build_events), false) as "builds!",
             coalesce(bool_or(pipeline_events), false) as "pipelines!" from hooks where project_id = $1"#,
        project.get(),
    )
    .fetch_one(connection)
    .await?;
    Ok((row.builds, row.pipelines))
}

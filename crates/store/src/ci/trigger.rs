//! Triggers of pipelines.
//!
//! Tokens are stored as digests. Rows that a node of an earlier version wrote contain the clear token until the daily
//! sweep converts them (migration 0011).

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, TriggerId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::pipeline::load_user_summaries;
use crate::accounts::user::UserSummary;
use crate::migrate::is_applied_for_a_day;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// The version of the migration that added `token_digest`.
const TOKEN_DIGEST_MIGRATION: i64 = 11;

#[derive(Clone, Debug, sqlx::FromRow)]
struct Row {
    id: i64,
    project_id: i64,
    owner_id: i64,
    #[sqlx(flatten)]
    token: TriggerToken,
    clear_token: Option<String>,
    description: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    last_used: Option<DateTime<Utc>>,
}

/// A trigger. Its token allows starting pipelines on behalf of its owner.
#[derive(Clone, Debug)]
pub struct Trigger {
    pub id: TriggerId,
    pub project_id: ProjectId,
    pub owner_id: UserId,
    pub owner: Option<UserSummary>,
    pub token: TriggerToken,
    /// The clear token, if a node of an earlier version stored it and it has not been converted yet.
    pub clear_token: Option<String>,
    pub description: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_used: Option<DateTime<Utc>>,
}

/// The token of a trigger as it is stored.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct TriggerToken {
    /// The SHA-256 digest by which the token is found.
    #[sqlx(rename = "token_digest")]
    pub digest: Vec<u8>,
    /// The first characters, which are shown to users who may see the trigger but not its token.
    #[sqlx(rename = "token_start")]
    pub start: String,
    /// The full token, encrypted, to be shown to its owner. None if there was no key when it was stored.
    #[sqlx(rename = "encrypted_token")]
    pub encrypted: Option<Vec<u8>>,
}

/// The columns of the triggers `t`.
const COLUMNS: &str = "\
    t.id, t.project_id, t.owner_id, coalesce(t.token_digest, sha256(convert_to(t.token, 'UTF8'))) as token_digest, \
    coalesce(t.token_start, left(t.token, 4)) as token_start, t.encrypted_token, \
    case when t.token_digest is null then t.token end as clear_token, t.description, t.created_at, t.updated_at, t.last_used";

/// Returns a query for triggers. `rest` is the condition, and what follows it, such as an order or a lock.
fn select_where(rest: &'static str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from triggers t where ").push(rest);
    query
}

async fn with_associations(connection: &mut Connection, rows: Vec<Row>) -> Result<Vec<Trigger>> {
    let owners = load_user_summaries(connection, rows.iter().map(|row| Some(row.owner_id))).await?;
    let trigger = |row: Row| Trigger {
        id: row.id.into(),
        project_id: row.project_id.into(),
        owner_id: row.owner_id.into(),
        owner: owners.get(&row.owner_id).cloned(),
        token: row.token,
        clear_token: row.clear_token,
        description: row.description,
        created_at: row.created_at,
        updated_at: row.updated_at,
        last_used: row.last_used,
    };
    Ok(rows.into_iter().map(trigger).collect())
}

pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<Trigger>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "t.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from triggers t where t.project_id = ").push_bind(project.get());
        },
        order: "t.id",
        page: table_alias("t"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    let mut connection = database.connection().await?;
    let found: Page<Row> = list.fetch(&mut connection, page).await?;
    let (request, total, has_next) = (found.request, found.total, found.has_next);
    Ok(Page { items: with_associations(&mut connection, found.items).await?, request, total, has_next })
}

/// Finds the trigger with this token, whose digest the caller has computed, in any project.
pub async fn find_by_token(connection: &mut Connection, token: &str, digest: &[u8]) -> Result<Option<Trigger>> {
    // In rows with a digest, the column `token` contains the digest in hexadecimal digits, which must not be accepted
    // as a token.
    let mut query = select_where("t.token_digest = $1 or (t.token = $2 and t.token_digest is null)");
    let query = query.build_query_as().bind(digest).bind(token);
    let rows = query.fetch_all(&mut *connection).await?;
    Ok(with_associations(connection, rows).await?.pop())
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: TriggerId) -> Result<Option<Trigger>> {
    let mut query = select_where("t.project_id = $1 and t.id = $2");
    let query = query.build_query_as().bind(project.get()).bind(id.get());
    let rows = query.fetch_all(&mut *connection).await?;
    Ok(with_associations(connection, rows).await?.pop())
}

pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    owner: UserId,
    token: &TriggerToken,
    description: Option<&str>,
    now: DateTime<Utc>,
) -> Result<TriggerId> {
    let id = sqlx::query_scalar!(
        "insert into triggers (project_id, owner_id, token, token_digest, token_start, encrypted_token, description,
           created_at, updated_at)
         values ($1, $2, encode($3, 'hex'), $3, $4, $5, $6, $7, $7) returning id",
        project.get(),
        owner.get(),
        &token.digest,
        &token.start,
        token.encrypted.as_deref(),
        description,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// A trigger whose token is stored in clear.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ClearTrigger {
    #[sqlx(try_from = "i64")]
    pub id: TriggerId,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    pub token: String,
}

/// Returns a batch of triggers whose token is stored in clear, sorted by id. Returns none for a day after the
/// migration: nodes of the version before may still run, and find triggers only by the clear token.
pub async fn next_clear_batch(connection: &mut Connection, at_most: i64) -> Result<Vec<ClearTrigger>> {
    const QUERY: &str = "select id, project_id, token from triggers where token_digest is null order by id limit $1";
    if !is_applied_for_a_day(connection, TOKEN_DIGEST_MIGRATION).await? {
        return Ok(Vec::new());
    }
    Ok(sqlx::query_as(QUERY).bind(at_most).fetch_all(connection).await?)
}

/// Replaces a clear token by its digest.
pub async fn set_token(connection: &mut Connection, id: TriggerId, token: &TriggerToken) -> Result<()> {
    sqlx::query!(
        "update triggers set token = encode($2, 'hex'), token_digest = $2, token_start = $3, encrypted_token = $4
         where id = $1 and token_digest is null",
        id.get(),
        &token.digest,
        &token.start,
        token.encrypted.as_deref(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn set_description(
    connection: &mut Connection,
    id: TriggerId,
    description: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    const STATEMENT: &str = "update triggers set description = $2, updated_at = $3 where id = $1";
    sqlx::query(STATEMENT).bind(id.get()).bind(description).bind(now).execute(connection).await?;
    Ok(())
}

pub async fn record_use(connection: &mut Connection, id: TriggerId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update triggers set last_used = $2 where id = $1", id.get(), now).execute(connection).await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, id: TriggerId) -> Result<()> {
    sqlx::query!("delete from triggers where id = $1", id.get()).execute(connection).await?;
    Ok(())
}

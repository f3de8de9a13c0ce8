//! The ref log: a record of every ref update (ADR 0027).

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::RepositoryId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use super::snapshot::object_id;
use crate::accounts::user::{self, UserSummary};
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// An update of one ref from `old` to `new`. None means that the ref did not exist before, or does not exist after it.
#[derive(Clone, Debug)]
pub struct RefLogEntry {
    /// The generation of the repository that the update created. Updates of one transaction share it.
    pub generation: i64,
    pub name: String,
    pub old: Option<ObjectId>,
    pub new: Option<ObjectId>,
    /// The user who made the update. None if it was made without a user, or if the user has been deleted.
    pub user: Option<UserSummary>,
    /// The entry point through which the update was made, as stored: other versions may know other ones.
    pub channel: String,
    pub created_at: DateTime<Utc>,
}

#[derive(sqlx::FromRow)]
struct Row {
    generation: i64,
    name: String,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    actor_id: Option<i64>,
    via: String,
    created_at: DateTime<Utc>,
}

/// The columns of an entry `l`.
const COLUMNS: &str = "l.generation, l.name, l.old, l.new, l.actor_id, l.via, l.created_at";

/// Lists the ref updates of a repository, or of one ref, the latest first.
pub async fn list(
    database: &Database,
    repository: RepositoryId,
    name: Option<&str>,
    page: PageRequest,
) -> Result<Page<RefLogEntry>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "l.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from ref_log l where l.repository_id = ").push_bind(repository.get());
            if let Some(name) = name {
                query.push(" and l.name = ").push_bind(name.to_owned());
            }
        },
        order: "l.generation desc, l.name desc",
        page: table_alias("l"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    let mut connection = database.connection().await?;
    let Page { items, request, total, has_next } = list.fetch::<Row>(&mut connection, page).await?;
    Ok(Page { items: with_associations(&mut connection, items).await?, request, total, has_next })
}

pub async fn find(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
    name: &str,
) -> Result<Option<RefLogEntry>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from ref_log l where l.repository_id = ").push_bind(repository.get());
    query.push(" and l.generation = ").push_bind(generation).push(" and l.name = ").push_bind(name);
    let rows: Vec<Row> = query.build_query_as().fetch_all(&mut *connection).await?;
    Ok(with_associations(connection, rows).await?.pop())
}

/// Returns when the updates of this generation were made, if one of them changed a ref from or to this object.
pub async fn find_time_of_value(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
    id: ObjectId,
) -> Result<Option<DateTime<Utc>>> {
    let statement = "select created_at from ref_log
         where repository_id = $1 and generation = $2 and (old = $3 or new = $3) limit 1";
    let query = sqlx::query_scalar(statement).bind(repository.get()).bind(generation).bind(id.as_bytes());
    Ok(query.fetch_optional(connection).await?)
}

/// Finds the last update of a ref.
pub async fn find_last(
    connection: &mut Connection,
    repository: RepositoryId,
    name: &str,
) -> Result<Option<RefLogEntry>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from ref_log l where l.repository_id = ").push_bind(repository.get());
    query.push(" and l.name = ").push_bind(name).push(" order by l.generation desc limit 1");
    let rows: Vec<Row> = query.build_query_as().fetch_all(&mut *connection).await?;
    Ok(with_associations(connection, rows).await?.pop())
}

/// Returns the refs that were updated after `generation`, each with its value at that generation: None for a ref that
/// did not exist. Returns None if there were more than `at_most` updates.
pub async fn first_old_values_since(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
    at_most: i64,
) -> Result<Option<Vec<(String, Option<ObjectId>)>>> {
    let rows = sqlx::query!(
        "select name, old from ref_log where repository_id = $1 and generation > $2 order by generation limit $3",
        repository.get(),
        generation,
        at_most + 1,
    )
    .fetch_all(connection)
    .await?;
    if rows.len() as i64 > at_most {
        return Ok(None);
    }
    let mut first: HashMap<String, Option<ObjectId>> = HashMap::new();
    for row in rows {
        let old = row.old.as_deref().map(object_id).transpose()?;
        first.entry(row.name).or_insert(old);
    }
    Ok(Some(first.into_iter().collect()))
}

/// Returns the distinct old values of all ref updates after `generation`.
pub async fn old_values_since(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
) -> Result<Vec<ObjectId>> {
    let rows = sqlx::query_scalar!(
        r#"select distinct old as "old!" from ref_log where repository_id = $1 and generation > $2 and old is not null"#,
        repository.get(),
        generation,
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(|id| object_id(id)).collect()
}

/// Returns whether the log contains this update at or after the time `since`.
pub async fn contains(
    connection: &mut Connection,
    repository: RepositoryId,
    name: &str,
    (old, new): (Option<ObjectId>, Option<ObjectId>),
    since: DateTime<Utc>,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from ref_log where repository_id = $1 and name = $2 and old is not distinct from $3
             and new is not distinct from $4 and created_at >= $5) as "exists!""#,
        repository.get(),
        name,
        old.as_ref().map(|id| id.as_bytes()),
        new.as_ref().map(|id| id.as_bytes()),
        since,
    )
    .fetch_one(connection)
    .await?)
}

async fn with_associations(connection: &mut Connection, rows: Vec<Row>) -> Result<Vec<RefLogEntry>> {
    let mut ids: Vec<i64> = rows.iter().filter_map(|row| row.actor_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let found = if ids.is_empty() { Vec::new() } else { user::find_summaries(connection, &ids).await? };
    let users: HashMap<i64, UserSummary> = found.into_iter().map(|summary| (summary.id.get(), summary)).collect();
    let id = |bytes: Option<Vec<u8>>| bytes.as_deref().map(object_id).transpose();
    let entry = |row: Row| {
        Ok(RefLogEntry {
            generation: row.generation,
            name: row.name,
            old: id(row.old)?,
            new: id(row.new)?,
            user: row.actor_id.and_then(|id| users.get(&id)).cloned(),
            channel: row.via,
            created_at: row.created_at,
        })
    };
    rows.into_iter().map(entry).collect()
}

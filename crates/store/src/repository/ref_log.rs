//! Every move of a ref, for those who look for what was.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::RepositoryId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use super::snapshot::object_id;
use crate::accounts::user::{self, Person};
use crate::page::{List, Total, named};
use crate::{Connection, Database, Result};

/// One move of one ref: from `old` to `new`, where none is one that was not there.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Of the repository, by this move and those that were made with it.
    pub generation: i64,
    pub name: String,
    pub old: Option<ObjectId>,
    pub new: Option<ObjectId>,
    /// None if it was nobody, or somebody who is gone.
    pub user: Option<Person>,
    /// Through which door.
    pub via: String,
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

macro_rules! columns {
    () => {
        "l.generation, l.name, l.old, l.new, l.actor_id, l.via, l.created_at"
    };
}

/// The last first.
pub async fn list(
    database: &Database,
    repository: RepositoryId,
    name: Option<&str>,
    page: PageRequest,
) -> Result<Page<Entry>> {
    let list = List {
        columns: columns!(),
        rows: "l.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from ref_log l where l.repository_id = ").push_bind(repository.get());
            if let Some(name) = name {
                query.push(" and l.name = ").push_bind(name.to_owned());
            }
        },
        order: "l.generation desc, l.name desc",
        page: named("l"),
        total: Total::Bounded,
        varies: false,
    };
    let mut connection = database.connection().await?;
    let Page { items, request, total, has_next } = list.fetch::<Row>(&mut connection, page).await?;
    Ok(Page { items: complete(&mut connection, items).await?, request, total, has_next })
}

pub async fn find(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
    name: &str,
) -> Result<Option<Entry>> {
    const QUERY: &str = concat!(
        "select ",
        columns!(),
        " from ref_log l where l.repository_id = $1 and l.generation = $2 and l.name = $3"
    );
    let query = sqlx::query_as(QUERY).bind(repository.get()).bind(generation).bind(name);
    let rows: Vec<Row> = query.fetch_all(&mut *connection).await?;
    Ok(complete(connection, rows).await?.pop())
}

/// The last move of a ref.
pub async fn last(connection: &mut Connection, repository: RepositoryId, name: &str) -> Result<Option<Entry>> {
    const QUERY: &str = concat!(
        "select ",
        columns!(),
        " from ref_log l where l.repository_id = $1 and l.name = $2 order by l.generation desc limit 1"
    );
    let rows: Vec<Row> = sqlx::query_as(QUERY).bind(repository.get()).bind(name).fetch_all(&mut *connection).await?;
    Ok(complete(connection, rows).await?.pop())
}

/// Where refs were before they moved first after a generation, where none is one that was not there. None if more than so
/// many moves were made since.
pub async fn before(
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

/// All that refs have left since a generation.
pub async fn left_since(
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

/// Whether that very move was made since then.
pub async fn knows(
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

async fn complete(connection: &mut Connection, rows: Vec<Row>) -> Result<Vec<Entry>> {
    let mut ids: Vec<i64> = rows.iter().filter_map(|row| row.actor_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let found = if ids.is_empty() { Vec::new() } else { user::people(connection, &ids).await? };
    let people: HashMap<i64, Person> = found.into_iter().map(|person| (person.id.get(), person)).collect();
    let id = |bytes: Option<Vec<u8>>| bytes.as_deref().map(object_id).transpose();
    let entry = |row: Row| {
        Ok(Entry {
            generation: row.generation,
            name: row.name,
            old: id(row.old)?,
            new: id(row.new)?,
            user: row.actor_id.and_then(|id| people.get(&id)).cloned(),
            via: row.via,
            created_at: row.created_at,
        })
    };
    rows.into_iter().map(entry).collect()
}

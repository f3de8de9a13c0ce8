use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, TriggerId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::pipeline::people;
use crate::accounts::user::Person;
use crate::page::{List, Total, named};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
struct Row {
    id: i64,
    project_id: i64,
    owner_id: i64,
    token: String,
    description: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    last_used: Option<DateTime<Utc>>,
}

/// Whoever knows the token may start pipelines, for its owner.
#[derive(Clone, Debug)]
pub struct Trigger {
    pub id: TriggerId,
    pub project_id: ProjectId,
    pub owner_id: UserId,
    pub owner: Option<Person>,
    pub token: String,
    pub description: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_used: Option<DateTime<Utc>>,
}

macro_rules! trigger_columns {
    () => {
        "t.id, t.project_id, t.owner_id, t.token, t.description, t.created_at, t.updated_at, t.last_used"
    };
}

async fn complete(connection: &mut Connection, rows: Vec<Row>) -> Result<Vec<Trigger>> {
    let people = people(connection, rows.iter().map(|row| Some(row.owner_id))).await?;
    let trigger = |row: Row| Trigger {
        id: row.id.into(),
        project_id: row.project_id.into(),
        owner_id: row.owner_id.into(),
        owner: people.get(&row.owner_id).cloned(),
        token: row.token,
        description: row.description,
        created_at: row.created_at,
        updated_at: row.updated_at,
        last_used: row.last_used,
    };
    Ok(rows.into_iter().map(trigger).collect())
}

pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<Trigger>> {
    let list = List {
        columns: trigger_columns!(),
        rows: "t.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from triggers t where t.project_id = ").push_bind(project.get());
        },
        order: "t.id",
        page: named("t"),
        total: Total::Bounded,
        varies: false,
    };
    let mut connection = database.connection().await?;
    let found: Page<Row> = list.fetch(&mut connection, page).await?;
    let (request, total, has_next) = (found.request, found.total, found.has_next);
    Ok(Page { items: complete(&mut connection, found.items).await?, request, total, has_next })
}

pub async fn find(connection: &mut Connection, token: &str) -> Result<Option<Trigger>> {
    const QUERY: &str = concat!("select ", trigger_columns!(), " from triggers t where t.token = $1");
    let rows = sqlx::query_as(QUERY).bind(token).fetch_all(&mut *connection).await?;
    Ok(complete(connection, rows).await?.pop())
}

pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    owner: UserId,
    token: &str,
    description: Option<&str>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into triggers (project_id, owner_id, token, description, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $5)",
        project.get(),
        owner.get(),
        token,
        description,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn touch(connection: &mut Connection, id: TriggerId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update triggers set last_used = $2 where id = $1", id.get(), now).execute(connection).await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, id: TriggerId) -> Result<()> {
    sqlx::query!("delete from triggers where id = $1", id.get()).execute(connection).await?;
    Ok(())
}

//! Variables of projects. Their values are encrypted, and only `app` can decrypt them (ADR 0023).

use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct EncryptedVariable {
    pub key: String,
    pub value: Vec<u8>,
}

pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<EncryptedVariable>> {
    let list = PagedQuery {
        columns: "v.key, v.value",
        rows: "v.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from project_variables v where v.project_id = ").push_bind(project.get());
        },
        order: "v.key",
        page: table_alias("v"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, project: ProjectId, key: &str) -> Result<Option<EncryptedVariable>> {
    Ok(sqlx::query_as!(
        EncryptedVariable,
        "select key, value from project_variables where project_id = $1 and key = $2",
        project.get(),
        key,
    )
    .fetch_optional(connection)
    .await?)
}

/// Finds a variable of any project, to check whether the encryption key is right.
pub async fn find_any(connection: &mut Connection) -> Result<Option<(ProjectId, EncryptedVariable)>> {
    const QUERY: &str = "select project_id, key, value from project_variables limit 1";
    let found: Option<(i64, String, Vec<u8>)> = sqlx::query_as(QUERY).fetch_optional(connection).await?;
    Ok(found.map(|(project, key, value)| (project.into(), EncryptedVariable { key, value })))
}

pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    variable: &EncryptedVariable,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into project_variables (project_id, key, value, created_at, updated_at) values ($1, $2, $3, $4, $4)",
        project.get(),
        variable.key,
        variable.value,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Counts the variables of a project, up to `at_most`.
pub async fn count(connection: &mut Connection, project: ProjectId, at_most: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from (select from project_variables where project_id = $1 limit $2) v"#,
        project.get(),
        at_most,
    )
    .fetch_one(connection)
    .await?)
}

pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    variable: &EncryptedVariable,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update project_variables set value = $3, updated_at = $4 where project_id = $1 and key = $2",
        project.get(),
        variable.key,
        variable.value,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, project: ProjectId, key: &str) -> Result<()> {
    sqlx::query!("delete from project_variables where project_id = $1 and key = $2", project.get(), key)
        .execute(connection)
        .await?;
    Ok(())
}

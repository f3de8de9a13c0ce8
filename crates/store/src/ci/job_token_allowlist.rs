//! The allowlist of a project: other projects whose builds may read it although it is not public.
//!
//! The list belongs to the project that is read, the target. It never extends the permissions of the build's user:
//! `app` checks both.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// A project whose builds may read another one.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AllowedProject {
    #[sqlx(try_from = "i64", rename = "source_id")]
    pub id: ProjectId,
    pub created_at: DateTime<Utc>,
}

/// Returns whether builds of `source` may read `target`.
pub async fn contains(connection: &mut Connection, target: ProjectId, source: ProjectId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from job_token_allowlist where target_id = $1 and source_id = $2) as "contains!""#,
        target.get(),
        source.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Lists the projects whose builds may read `target`, sorted by id. Deleted projects are left out.
pub async fn list(database: &Database, target: ProjectId, page: PageRequest) -> Result<Page<AllowedProject>> {
    let list = PagedQuery {
        columns: "a.source_id, a.created_at",
        rows: "a.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from job_token_allowlist a join projects p on p.id = a.source_id where a.target_id = ");
            query.push_bind(target.get()).push(" and p.namespace_id is not null");
        },
        order: "a.source_id",
        page: table_alias("a"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Counts the entries of `target`, up to `at_most`.
pub async fn count(connection: &mut Connection, target: ProjectId, at_most: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from (select from job_token_allowlist where target_id = $1 limit $2) a"#,
        target.get(),
        at_most,
    )
    .fetch_one(connection)
    .await?)
}

/// Adds `source` to the list of `target`. Returns false if it is already on the list.
pub async fn insert(
    connection: &mut Connection,
    target: ProjectId,
    source: ProjectId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let added = sqlx::query!(
        "insert into job_token_allowlist (target_id, source_id, created_at) values ($1, $2, $3) on conflict do nothing",
        target.get(),
        source.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(added.rows_affected() > 0)
}

/// Removes `source` from the list of `target`. Returns false if it was not on the list.
pub async fn delete(connection: &mut Connection, target: ProjectId, source: ProjectId) -> Result<bool> {
    let deleted = sqlx::query!(
        "delete from job_token_allowlist where target_id = $1 and source_id = $2",
        target.get(),
        source.get(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

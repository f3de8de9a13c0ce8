//! What lies in the object store for builds. The row comes before the bytes and goes after them.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::BuildId;

use crate::{Connection, Result};

pub async fn begin(connection: &mut Connection, build: BuildId, object_key: &str, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "insert into build_objects (object_key, build_id, created_at) values ($1, $2, $3)",
        object_key,
        build.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// False if it is wanted no more.
pub async fn finish(connection: &mut Connection, object_key: &str, now: DateTime<Utc>) -> Result<bool> {
    let done = sqlx::query!(
        "update build_objects set stored_at = $2 where object_key = $1 and build_id is not null",
        object_key,
        now,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub async fn abandon(connection: &mut Connection, object_key: &str) -> Result<()> {
    sqlx::query!("update build_objects set build_id = null where object_key = $1", object_key)
        .execute(connection)
        .await?;
    Ok(())
}

/// Some that nobody wants, or that were begun before that time and never finished.
pub async fn some_unwanted(
    connection: &mut Connection,
    begun_before: DateTime<Utc>,
    at_most: i64,
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select object_key from build_objects where (build_id is null or stored_at is null)
           and (build_id is null and stored_at is not null or created_at < $1) limit $2",
        begun_before,
        at_most,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn forget(connection: &mut Connection, object_keys: &[String]) -> Result<()> {
    sqlx::query!("delete from build_objects where object_key = any($1)", object_keys).execute(connection).await?;
    Ok(())
}

//! Objects of builds in the object store: traces and artifacts. A row is inserted before the bytes are uploaded and
//! deleted after them (ADR 0011).

use chrono::{DateTime, Utc};
use holdfast_domain::ids::BuildId;

use crate::{Connection, Result};

pub async fn insert_intent(
    connection: &mut Connection,
    build: BuildId,
    object_key: &str,
    now: DateTime<Utc>,
) -> Result<()> {
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

/// Records that an object is stored. Returns false if no build refers to it anymore.
pub async fn confirm_stored(connection: &mut Connection, object_key: &str, now: DateTime<Utc>) -> Result<bool> {
    let done = sqlx::query!(
        "update build_objects set stored_at = $2 where object_key = $1 and build_id is not null",
        object_key,
        now,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub async fn detach_from_build(connection: &mut Connection, object_key: &str) -> Result<()> {
    sqlx::query!("update build_objects set build_id = null where object_key = $1", object_key)
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the keys of a batch of unreferenced objects: stored objects without a build, and uploads that were announced
/// before the time `created_before` and never finished.
pub async fn next_unreferenced_batch(
    connection: &mut Connection,
    created_before: DateTime<Utc>,
    at_most: i64,
) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select object_key from build_objects where (build_id is null or stored_at is null)
           and (build_id is null and stored_at is not null or created_at < $1) limit $2",
        created_before,
        at_most,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn delete(connection: &mut Connection, object_keys: &[String]) -> Result<()> {
    sqlx::query!("delete from build_objects where object_key = any($1)", object_keys).execute(connection).await?;
    Ok(())
}

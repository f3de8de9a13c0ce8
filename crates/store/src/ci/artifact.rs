//! Artifacts of builds. Their bytes are in the object store.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::BuildId;

use crate::{Connection, Result};

#[derive(Clone, Debug)]
pub struct Artifact {
    pub file_name: String,
    pub object_key: String,
    pub bytes: i64,
    pub expires_at: Option<DateTime<Utc>>,
}

/// Finds the artifacts of a build. Returns None if there are none or they have expired.
pub async fn find(connection: &mut Connection, build: BuildId, now: DateTime<Utc>) -> Result<Option<Artifact>> {
    Ok(sqlx::query_as!(
        Artifact,
        "select file_name, object_key, bytes, expires_at from artifacts
         where build_id = $1 and (expires_at is null or expires_at > $2)",
        build.get(),
        now,
    )
    .fetch_optional(connection)
    .await?)
}

/// Inserts the artifacts of a build in the place of earlier ones.
pub async fn replace(connection: &mut Connection, build: BuildId, artifact: &Artifact) -> Result<()> {
    delete(&mut *connection, build).await?;
    sqlx::query!(
        "insert into artifacts (build_id, file_name, object_key, bytes, expires_at) values ($1, $2, $3, $4, $5)",
        build.get(),
        artifact.file_name,
        artifact.object_key,
        artifact.bytes,
        artifact.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, build: BuildId) -> Result<()> {
    sqlx::query!(
        "with deleted as (delete from artifacts where build_id = $1 returning object_key)
         update build_objects o set build_id = null from deleted where o.object_key = deleted.object_key",
        build.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the expiry date, so that the artifacts are kept indefinitely.
pub async fn clear_expiry(connection: &mut Connection, build: BuildId) -> Result<()> {
    sqlx::query!("update artifacts set expires_at = null where build_id = $1", build.get()).execute(connection).await?;
    Ok(())
}

/// Deletes a batch of expired artifacts and marks their objects as unreferenced. Returns how many were deleted.
pub async fn delete_expired_batch(connection: &mut Connection, now: DateTime<Utc>, at_most: i64) -> Result<u64> {
    let deleted = sqlx::query_scalar!(
        r#"with deleted as (delete from artifacts where expires_at < $1 and build_id in (
               select build_id from artifacts where expires_at < $1 order by expires_at limit $2) returning object_key),
           objects as (update build_objects o set build_id = null from deleted where o.object_key = deleted.object_key)
           select count(*) as "count!" from deleted"#,
        now,
        at_most,
    )
    .fetch_one(connection)
    .await?;
    Ok(deleted.unsigned_abs())
}

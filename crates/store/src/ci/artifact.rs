//! Files that a build leaves.

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

/// None once its time is over.
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

/// In the place of what the build left before.
pub async fn put(connection: &mut Connection, build: BuildId, it: &Artifact) -> Result<()> {
    delete(&mut *connection, build).await?;
    sqlx::query!(
        "insert into artifacts (build_id, file_name, object_key, bytes, expires_at) values ($1, $2, $3, $4, $5)",
        build.get(),
        it.file_name,
        it.object_key,
        it.bytes,
        it.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, build: BuildId) -> Result<()> {
    sqlx::query!(
        "with gone as (delete from artifacts where build_id = $1 returning object_key)
         update build_objects o set build_id = null from gone where o.object_key = gone.object_key",
        build.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// For ever.
pub async fn keep(connection: &mut Connection, build: BuildId) -> Result<()> {
    sqlx::query!("update artifacts set expires_at = null where build_id = $1", build.get()).execute(connection).await?;
    Ok(())
}

/// Takes some away whose time is over; how many there were.
pub async fn delete_some_expired(connection: &mut Connection, now: DateTime<Utc>, at_most: i64) -> Result<u64> {
    let gone = sqlx::query_scalar!(
        r#"with gone as (delete from artifacts where expires_at < $1 and build_id in (
               select build_id from artifacts where expires_at < $1 order by expires_at limit $2) returning object_key),
           objects as (update build_objects o set build_id = null from gone where o.object_key = gone.object_key)
           select count(*) as "count!" from gone"#,
        now,
        at_most,
    )
    .fetch_one(connection)
    .await?;
    Ok(gone.unsigned_abs())
}

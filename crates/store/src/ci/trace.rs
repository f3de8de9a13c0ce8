//! What builds say. It only grows: what came before is never read to take what comes.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::BuildId;

use crate::{Connection, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length {
    pub bytes: i64,
    pub crc32: u32,
    /// Of these, the last that are not in the object store.
    pub unsealed: i64,
}

/// Nobody adds to it until the end of the transaction.
pub async fn lock(connection: &mut Connection, build: BuildId, now: DateTime<Utc>) -> Result<Length> {
    let row = sqlx::query!(
        "insert into traces (build_id, bytes, crc32, unsealed, updated_at) values ($1, 0, 0, 0, $2)
         on conflict (build_id) do update set updated_at = $2 returning bytes, crc32, unsealed",
        build.get(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(Length { bytes: row.bytes, crc32: row.crc32 as u32, unsealed: row.unsealed })
}

/// Behind what is there, which is so long; `to` is how long it is then.
pub async fn append(connection: &mut Connection, build: BuildId, start: i64, content: &[u8], to: Length) -> Result<()> {
    sqlx::query!(
        "insert into trace_pieces (build_id, start, bytes, content) values ($1, $2, $3, $4)",
        build.get(),
        start,
        content.len() as i64,
        content,
    )
    .execute(&mut *connection)
    .await?;
    set_length(connection, build, to).await
}

async fn set_length(connection: &mut Connection, build: BuildId, to: Length) -> Result<()> {
    sqlx::query!(
        "update traces set bytes = $2, crc32 = $3, unsealed = $4 where build_id = $1",
        build.get(),
        to.bytes,
        i64::from(to.crc32),
        to.unsealed,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// All of it goes; what is in the object store is wanted no more.
pub async fn clear(connection: &mut Connection, build: BuildId) -> Result<()> {
    sqlx::query!(
        "update build_objects set build_id = null where object_key in (
           select object_key from trace_pieces where build_id = $1 and object_key is not null)",
        build.get(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("delete from trace_pieces where build_id = $1", build.get()).execute(&mut *connection).await?;
    set_length(connection, build, Length::default()).await
}

/// A part of what a build said: here, or in the object store.
#[derive(Clone, Debug)]
pub struct Piece {
    pub start: i64,
    pub bytes: i64,
    pub content: Option<Vec<u8>>,
    pub object_key: Option<String>,
}

/// In order.
pub async fn pieces(connection: &mut Connection, build: BuildId) -> Result<Vec<Piece>> {
    Ok(sqlx::query_as!(
        Piece,
        "select start, bytes, content, object_key from trace_pieces where build_id = $1 order by start",
        build.get(),
    )
    .fetch_all(connection)
    .await?)
}

/// Those that are not in the object store.
pub async fn unsealed(connection: &mut Connection, build: BuildId) -> Result<Vec<Piece>> {
    Ok(sqlx::query_as!(
        Piece,
        "select start, bytes, content, object_key from trace_pieces where build_id = $1 and content is not null
         order by start",
        build.get(),
    )
    .fetch_all(connection)
    .await?)
}

/// One object for several pieces; false if they are not all there any more.
pub async fn seal(connection: &mut Connection, build: BuildId, pieces: &[Piece], object_key: &str) -> Result<bool> {
    let starts: Vec<i64> = pieces.iter().map(|piece| piece.start).collect();
    let bytes: i64 = pieces.iter().map(|piece| piece.bytes).sum();
    let gone = sqlx::query!(
        "delete from trace_pieces where build_id = $1 and start = any($2) and content is not null",
        build.get(),
        &starts,
    )
    .execute(&mut *connection)
    .await?;
    let Some(first) = starts.first().filter(|_| gone.rows_affected() == starts.len() as u64) else { return Ok(false) };
    sqlx::query!(
        "insert into trace_pieces (build_id, start, bytes, object_key) values ($1, $2, $3, $4)",
        build.get(),
        first,
        bytes,
        object_key,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("update traces set unsealed = unsealed - $2 where build_id = $1", build.get(), bytes)
        .execute(connection)
        .await?;
    Ok(true)
}

/// Some of builds that are over and are not all in the object store.
pub async fn some_unsealed(connection: &mut Connection, after: i64, at_most: i64) -> Result<Vec<BuildId>> {
    let rows = sqlx::query_scalar!(
        "select t.build_id from traces t where t.unsealed > 0 and t.build_id > $1
           and not exists (select from build_runs r where r.build_id = t.build_id)
         order by t.build_id limit $2",
        after,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

//! Traces of builds, stored as chunks (ADR 0022).
//!
//! Appending a chunk does not read earlier ones. The last chunks are buffered in the database; earlier ones are
//! archived in the object store.

use chrono::{DateTime, Utc};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::{BuildId, ProjectId};

use crate::{Connection, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceLength {
    pub bytes: i64,
    pub crc32: u32,
    /// The number of bytes that are not in the object store yet.
    pub buffered_bytes: i64,
}

/// Locks the trace of a build until the end of the transaction, and returns its length. Inserts an empty trace if there
/// is none.
pub async fn lock(connection: &mut Connection, build: BuildId, now: DateTime<Utc>) -> Result<TraceLength> {
    let row = sqlx::query!(
        "insert into traces (build_id, bytes, crc32, unsealed, updated_at) values ($1, 0, 0, 0, $2)
         on conflict (build_id) do update set updated_at = $2 returning bytes, crc32, unsealed",
        build.get(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(TraceLength { bytes: row.bytes, crc32: row.crc32 as u32, buffered_bytes: row.unsealed })
}

/// Appends a chunk to a trace. `start` is the current length of the trace and `length` the new one. The caller has
/// locked the trace.
pub async fn append(
    connection: &mut Connection,
    build: BuildId,
    start: i64,
    content: &[u8],
    length: TraceLength,
) -> Result<()> {
    sqlx::query!(
        "insert into trace_pieces (build_id, start, bytes, content) values ($1, $2, $3, $4)",
        build.get(),
        start,
        content.len() as i64,
        content,
    )
    .execute(&mut *connection)
    .await?;
    set_length(connection, build, length).await
}

async fn set_length(connection: &mut Connection, build: BuildId, length: TraceLength) -> Result<()> {
    sqlx::query!(
        "update traces set bytes = $2, crc32 = $3, unsealed = $4 where build_id = $1",
        build.get(),
        length.bytes,
        i64::from(length.crc32),
        length.buffered_bytes,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes all chunks of a trace and marks its objects as unreferenced.
pub async fn clear(connection: &mut Connection, build: BuildId) -> Result<()> {
    sqlx::query!(
        "update build_objects set build_id = null where object_key in (
           select object_key from trace_pieces where build_id = $1 and object_key is not null)",
        build.get(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("delete from trace_pieces where build_id = $1", build.get()).execute(&mut *connection).await?;
    set_length(connection, build, TraceLength::default()).await
}

/// A part of a trace, either in the database or in the object store.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct TraceChunk {
    pub start: i64,
    pub bytes: i64,
    pub content: Option<Vec<u8>>,
    pub object_key: Option<String>,
}

/// Lists the chunks of a trace in order.
pub async fn list_chunks(connection: &mut Connection, build: BuildId) -> Result<Vec<TraceChunk>> {
    Ok(sqlx::query_as!(
        TraceChunk,
        "select start, bytes, content, object_key from trace_pieces where build_id = $1 order by start",
        build.get(),
    )
    .fetch_all(connection)
    .await?)
}

/// Lists the chunks of a trace that have bytes between two offsets, in order.
pub async fn list_chunks_between(
    connection: &mut Connection,
    build: BuildId,
    from: i64,
    to: i64,
) -> Result<Vec<TraceChunk>> {
    let query = sqlx::query_as(
        "select start, bytes, content, object_key from trace_pieces
         where build_id = $1 and start < $3 and start + bytes > $2 and start >= coalesce(
           (select max(start) from trace_pieces where build_id = $1 and start <= $2), 0)
         order by start",
    );
    Ok(query.bind(build.get()).bind(from).bind(to).fetch_all(connection).await?)
}

/// The state of a build as the viewers of its trace see it.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct TraceState {
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// The length of the trace.
    pub bytes: i64,
}

/// Finds the state of a build with its trace. External statuses have none.
pub async fn find_state(connection: &mut Connection, project: ProjectId, id: BuildId) -> Result<Option<TraceState>> {
    let query = sqlx::query_as(
        "select b.status, coalesce(t.bytes, 0) as bytes from builds b left join traces t on t.build_id = b.id
         where b.id = $1 and b.project_id = $2 and not b.external",
    );
    Ok(query.bind(id.get()).bind(project.get()).fetch_optional(connection).await?)
}

/// Lists the chunks of a trace that are not in the object store, in order.
pub async fn list_buffered_chunks(connection: &mut Connection, build: BuildId) -> Result<Vec<TraceChunk>> {
    Ok(sqlx::query_as!(
        TraceChunk,
        "select start, bytes, content, object_key from trace_pieces where build_id = $1 and content is not null
         order by start",
        build.get(),
    )
    .fetch_all(connection)
    .await?)
}

/// Replaces buffered chunks by one chunk in the object store. Returns false if not all of them exist anymore; the
/// caller must then roll back.
pub async fn archive_chunks(
    connection: &mut Connection,
    build: BuildId,
    chunks: &[TraceChunk],
    object_key: &str,
) -> Result<bool> {
    let starts: Vec<i64> = chunks.iter().map(|chunk| chunk.start).collect();
    let bytes: i64 = chunks.iter().map(|chunk| chunk.bytes).sum();
    let deleted = sqlx::query!(
        "delete from trace_pieces where build_id = $1 and start = any($2) and content is not null",
        build.get(),
        &starts,
    )
    .execute(&mut *connection)
    .await?;
    let Some(first) = starts.first().filter(|_| deleted.rows_affected() == starts.len() as u64) else {
        return Ok(false);
    };
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

/// Returns a batch of builds that are not running and whose traces have buffered chunks, sorted by id, with ids greater
/// than `after`.
pub async fn next_buffered_batch(connection: &mut Connection, after: i64, at_most: i64) -> Result<Vec<BuildId>> {
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

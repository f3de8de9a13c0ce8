//! Traces of builds. A trace arrives in chunks, which are stored in the database until there are enough of them for an
//! object.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use holdfast_domain::ci::file::find_coverage;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::build as store_build;
use holdfast_store::ci::build_object;
use holdfast_store::ci::trace::{self, TraceChunk, TraceLength};
use holdfast_store::objects::ByteStream;
use holdfast_store::{Connection, commit};

use super::build;
use super::mask::mask;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, access};

/// Minimum size of the buffered chunks of a running build before they are archived as an object.
const MIN_OBJECT_BYTES: i64 = 1 << 20;

/// The result of appending a chunk to a trace.
pub(super) enum TraceAppend {
    /// The chunk was appended; this is the new length.
    Accepted(TraceLength),
    /// The chunk does not begin at the end of the trace; this is the current length.
    OffsetMismatch(i64),
    TooLong,
}

/// Appends a chunk to a trace, without reading the existing chunks. The caller has authorized access to the build in
/// the same transaction.
pub(super) async fn append(
    app: &App,
    connection: &mut Connection,
    build: BuildId,
    start: i64,
    content: &[u8],
) -> Result<TraceAppend> {
    let current = trace::lock(connection, build, app.clock.now()).await?;
    if start != current.bytes {
        return Ok(TraceAppend::OffsetMismatch(current.bytes));
    }
    if content.is_empty() {
        return Ok(TraceAppend::Accepted(current));
    }
    let bytes = current.bytes + content.len() as i64;
    if bytes as u64 > app.settings.ci.max_trace_bytes {
        return Ok(TraceAppend::TooLong);
    }
    let mut crc = crc32fast::Hasher::new_with_initial_len(current.crc32, current.bytes as u64);
    crc.update(content);
    let new_length =
        TraceLength { bytes, crc32: crc.finalize(), buffered_bytes: current.buffered_bytes + content.len() as i64 };
    trace::append(connection, build, start, content, new_length).await?;
    Ok(TraceAppend::Accepted(new_length))
}

/// Replaces the whole trace. A trace that is too long is ignored, because the result of the build is more important.
pub(super) async fn replace(app: &App, connection: &mut Connection, build: BuildId, content: &[u8]) -> Result<()> {
    let current = trace::lock(connection, build, app.clock.now()).await?;
    let is_same = (current.bytes, current.crc32) == (content.len() as i64, crc32fast::hash(content));
    if is_same || content.len() as u64 > app.settings.ci.max_trace_bytes {
        return Ok(());
    }
    trace::clear(connection, build).await?;
    append(app, connection, build, 0, content).await?;
    Ok(())
}

/// Archives the buffered chunks if there are enough of them. This only saves space: if it fails, nothing is lost.
pub(super) async fn archive_if_large(app: &App, build: BuildId, length: TraceLength) {
    if length.buffered_bytes < MIN_OBJECT_BYTES {
        return;
    }
    if let Err(error) = archive_chunks(app, build).await {
        tracing::warn!(%error, %build, "archiving trace failed, retrying later");
    }
}

/// Moves the buffered chunks of a trace into one object. Changes nothing if some of them were removed concurrently.
pub(super) async fn archive_chunks(app: &App, build: BuildId) -> Result<()> {
    let key = format!("traces/{}", app.entropy.hex::<16>());
    let chunks = trace::list_buffered_chunks(&mut *app.database.connection().await?, build).await?;
    if chunks.is_empty() {
        return Ok(());
    }
    build_object::insert_intent(&mut *app.database.connection().await?, build, &key, app.clock.now()).await?;
    let content: Vec<u8> = chunks.iter().filter_map(|chunk| chunk.content.as_deref()).flatten().copied().collect();
    app.objects.put(&key, Bytes::from(content)).await?;
    let mut transaction = app.database.begin().await?;
    let now = app.clock.now();
    trace::lock(&mut transaction, build, now).await?;
    let is_archived = trace::archive_chunks(&mut transaction, build, &chunks, &key).await?
        && build_object::confirm_stored(&mut transaction, &key, now).await?;
    if is_archived {
        commit(transaction).await?;
        return Ok(());
    }
    drop(transaction);
    Ok(build_object::detach_from_build(&mut *app.database.connection().await?, &key).await?)
}

/// Number of bytes at the end of a trace that are searched for the coverage, rounded up to whole chunks.
const MAX_SEARCHED_BYTES: i64 = 1 << 20;

/// Extracts the coverage from the trace of a finished build, if the build has a pattern for it.
pub(super) async fn record_coverage(app: &App, id: BuildId) -> Result<()> {
    let mut connection = app.database.connection().await?;
    let Some(pattern) = store_build::find_coverage_pattern(&mut connection, id).await? else { return Ok(()) };
    let mut chunks = trace::list_chunks(&mut connection, id).await?;
    drop(connection);
    let length: i64 = chunks.iter().map(|chunk| chunk.bytes).sum();
    chunks.retain(|chunk| chunk.start + chunk.bytes > length - MAX_SEARCHED_BYTES);
    let text = read_chunks(app, chunks).try_fold(Vec::new(), async |mut text, bytes| {
        text.extend_from_slice(&bytes);
        Ok(text)
    });
    let text = text.await?;
    let searching = tokio::task::spawn_blocking(move || find_coverage(&pattern, &String::from_utf8_lossy(&text)));
    let found = searching.await.map_err(|panicked| Error::Internal(panicked.into()))?;
    if let Some(coverage) = found {
        store_build::set_coverage(&mut *app.database.connection().await?, id, coverage).await?;
    }
    Ok(())
}

/// The trace of a build, as far as it has been received.
pub struct Trace {
    pub bytes: i64,
    pub content: ByteStream,
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Trace> {
    Ok(show_with_project(app, actor, project, id).await?.trace)
}

/// Returns the content of a trace. Users who may read builds must not see the token that registers runners.
fn read_masked(app: &App, chunks: Vec<TraceChunk>, project: &Project) -> ByteStream {
    mask(read_chunks(app, chunks), project.runners_token.clone())
}

/// The whole trace of a build, with the project that it belongs to.
pub struct RawTrace {
    pub project: Project,
    pub trace: Trace,
}

/// Like [`show`], but also returns the project.
#[crate::boxed]
pub async fn show_with_project(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<RawTrace> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    build::find(app, &mut connection, &project, id).await?;
    let chunks = trace::list_chunks(&mut connection, id).await?;
    let bytes = chunks.iter().map(|chunk| chunk.bytes).sum();
    let content = read_masked(app, chunks, &project);
    Ok(RawTrace { project, trace: Trace { bytes, content } })
}

fn read_chunks(app: &App, chunks: Vec<TraceChunk>) -> ByteStream {
    let objects = app.objects.clone();
    let open = move |chunk: TraceChunk| {
        let objects = objects.clone();
        async move {
            match (chunk.content, chunk.object_key) {
                (Some(content), _) => Ok(stream::iter([Ok(Bytes::from(content))]).boxed()),
                (None, Some(key)) => {
                    let found = objects.get(&key).await.map_err(std::io::Error::other)?;
                    found.ok_or_else(|| std::io::Error::other("a chunk of the trace is missing in the object store"))
                }
                (None, None) => {
                    Err(std::io::Error::other("a chunk of the trace has neither content nor an object key"))
                }
            }
        }
    };
    stream::iter(chunks).then(open).try_flatten().boxed()
}

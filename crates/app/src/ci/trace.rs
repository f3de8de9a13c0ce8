//! What a build says, while it runs and afterwards. It comes in pieces, which are kept in the database until there is
//! enough of them for an object.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use holdfast_domain::ci::file::coverage_in;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::build as store_build;
use holdfast_store::ci::object;
use holdfast_store::ci::trace::{self, Length, Piece};
use holdfast_store::objects::Content;
use holdfast_store::{Connection, commit};

use super::build;
use super::mask::masked;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, access};

/// So much makes an object.
const OBJECT: i64 = 1 << 20;

/// What came of adding to it.
pub(super) enum Added {
    /// It is so long now.
    To(Length),
    /// It is so long, and the piece belongs elsewhere.
    Elsewhere(i64),
    TooLong,
}

/// In the transaction of who has the build; what is already there is not read.
pub(super) async fn append(
    app: &App,
    connection: &mut Connection,
    build: BuildId,
    start: i64,
    content: &[u8],
) -> Result<Added> {
    let now = trace::lock(connection, build, app.clock.now()).await?;
    if start != now.bytes {
        return Ok(Added::Elsewhere(now.bytes));
    }
    if content.is_empty() {
        return Ok(Added::To(now));
    }
    let bytes = now.bytes + content.len() as i64;
    if bytes as u64 > app.settings.ci.max_trace_bytes {
        return Ok(Added::TooLong);
    }
    let mut crc = crc32fast::Hasher::new_with_initial_len(now.crc32, now.bytes as u64);
    crc.update(content);
    let to = Length { bytes, crc32: crc.finalize(), unsealed: now.unsealed + content.len() as i64 };
    trace::append(connection, build, start, content, to).await?;
    Ok(Added::To(to))
}

/// The whole of it, in place of what was there. One that is too long is left: how a build ended counts more than what it
/// said.
pub(super) async fn replace(app: &App, connection: &mut Connection, build: BuildId, content: &[u8]) -> Result<()> {
    let now = trace::lock(connection, build, app.clock.now()).await?;
    let is_same = (now.bytes, now.crc32) == (content.len() as i64, crc32fast::hash(content));
    if is_same || content.len() as u64 > app.settings.ci.max_trace_bytes {
        return Ok(());
    }
    trace::clear(connection, build).await?;
    append(app, connection, build, 0, content).await?;
    Ok(())
}

/// Moves what is long enough into the object store. It is only for room: nothing is lost if it is not done.
pub(super) async fn seal_if_long(app: &App, build: BuildId, length: Length) {
    if length.unsealed < OBJECT {
        return;
    }
    if let Err(error) = seal(app, build).await {
        tracing::warn!(%error, %build, "a trace stays in the database for now");
    }
}

pub(super) async fn seal(app: &App, build: BuildId) -> Result<()> {
    let key = format!("traces/{}", app.entropy.hex::<16>());
    let pieces = trace::unsealed(&mut *app.database.connection().await?, build).await?;
    if pieces.is_empty() {
        return Ok(());
    }
    object::begin(&mut *app.database.connection().await?, build, &key, app.clock.now()).await?;
    let content: Vec<u8> = pieces.iter().filter_map(|piece| piece.content.as_deref()).flatten().copied().collect();
    app.objects.put(&key, Bytes::from(content)).await?;
    let mut transaction = app.database.begin().await?;
    let now = app.clock.now();
    trace::lock(&mut transaction, build, now).await?;
    let sealed = trace::seal(&mut transaction, build, &pieces, &key).await?
        && object::finish(&mut transaction, &key, now).await?;
    if sealed {
        commit(transaction).await?;
        return Ok(());
    }
    drop(transaction);
    Ok(object::abandon(&mut *app.database.connection().await?, &key).await?)
}

/// So much of the end is searched for how much of the code is covered.
const SEARCHED: i64 = 1 << 20;

/// What a build that is over says it covers, if it has a pattern for that.
pub(super) async fn note_coverage(app: &App, id: BuildId) -> Result<()> {
    let mut connection = app.database.connection().await?;
    let Some(pattern) = store_build::coverage_pattern(&mut connection, id).await? else { return Ok(()) };
    let mut pieces = trace::pieces(&mut connection, id).await?;
    drop(connection);
    let length: i64 = pieces.iter().map(|piece| piece.bytes).sum();
    pieces.retain(|piece| piece.start + piece.bytes > length - SEARCHED);
    let text = content(app, pieces).try_fold(Vec::new(), async |mut text, bytes| {
        text.extend_from_slice(&bytes);
        Ok(text)
    });
    let text = text.await?;
    let searching = tokio::task::spawn_blocking(move || coverage_in(&pattern, &String::from_utf8_lossy(&text)));
    let found = searching.await.map_err(|panicked| Error::Internal(panicked.into()))?;
    if let Some(coverage) = found {
        store_build::set_coverage(&mut *app.database.connection().await?, id, coverage).await?;
    }
    Ok(())
}

/// What a build said so far.
pub struct Trace {
    pub bytes: i64,
    pub content: Content,
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Trace> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    build::find(app, &mut connection, &project, id).await?;
    let pieces = trace::pieces(&mut connection, id).await?;
    drop(connection);
    let bytes = pieces.iter().map(|piece| piece.bytes).sum();
    // Who reads builds need not know what registers runners.
    Ok(Trace { bytes, content: masked(content(app, pieces), project.runners_token) })
}

fn content(app: &App, pieces: Vec<Piece>) -> Content {
    let objects = app.objects.clone();
    let open = move |piece: Piece| {
        let objects = objects.clone();
        async move {
            match (piece.content, piece.object_key) {
                (Some(content), _) => Ok(stream::iter([Ok(Bytes::from(content))]).boxed()),
                (None, Some(key)) => {
                    let found = objects.get(&key).await.map_err(std::io::Error::other)?;
                    found.ok_or_else(|| std::io::Error::other("a piece of a trace is missing"))
                }
                (None, None) => Err(std::io::Error::other("a piece of a trace is nowhere")),
            }
        }
    };
    stream::iter(pieces).then(open).try_flatten().boxed()
}

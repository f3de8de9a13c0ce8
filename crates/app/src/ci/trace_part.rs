//! Parts of traces, as pages show them. Only what is shown is read, however long the trace is.

use std::ops::Range;

use futures_util::TryStreamExt;
use holdfast_domain::ci::Status;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::ci::trace::{self, TraceChunk, TraceState};

use super::mask::redact;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of bytes of a part.
const MAX_BYTES: i64 = 512 << 10;
/// Minimum length of a line that is shown although it has not ended.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A part of a trace. It begins and ends with whole lines, except where a line is very long, or the build has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracePart {
    /// The offset of the first byte.
    pub start: i64,
    pub content: Vec<u8>,
    /// Whether the trace has more bytes that can be shown now.
    pub has_more: bool,
}

impl TracePart {
    /// Returns the offset of the first byte after the part.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(i64::try_from(self.content.len()).unwrap_or(i64::MAX))
    }
}

/// A part of a trace with the state of its build.
pub struct BuildTracePart {
    pub status: Status,
    pub part: TracePart,
}

/// Returns the part of a trace that begins at an offset.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId, from: i64) -> Result<BuildTracePart> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let state = trace::find_state(&mut connection, project.id, id).await?;
    let state = state.ok_or(Error::NotFound(Resource::Record))?;
    let range = from.clamp(0, state.bytes)..state.bytes.min(from.saturating_add(MAX_BYTES));
    let chunks = list_chunks(&mut connection, &project, id, &range).await?;
    drop(connection);
    let content = read(app, chunks, &project, &range).await?;
    Ok(BuildTracePart { status: state.status, part: whole_lines(content, range.start, state, &project) })
}

/// The end of a trace, before it is read from the object store.
pub(super) struct TraceEnd {
    state: TraceState,
    range: Range<i64>,
    chunks: Vec<TraceChunk>,
}

impl TraceEnd {
    /// Finds the end of a trace.
    pub async fn find(
        connection: &mut Connection,
        project: &Project,
        id: BuildId,
        status: Status,
        bytes: i64,
    ) -> Result<Self> {
        let range = (bytes - MAX_BYTES).max(0)..bytes;
        let chunks = list_chunks(connection, project, id, &range).await?;
        Ok(Self { state: TraceState { status, bytes }, range, chunks })
    }

    /// Reads the end of the trace, from the first line that begins in it.
    pub async fn read(self, app: &App, project: &Project) -> Result<TracePart> {
        let Self { state, range, chunks } = self;
        let mut content = read(app, chunks, project, &range).await?;
        let mut start = range.start;
        if start > 0
            && let Some(line_end) = content.iter().position(|byte| *byte == b'\n')
        {
            content.drain(..=line_end);
            start += i64::try_from(line_end + 1).unwrap_or(0);
        }
        Ok(whole_lines(content, start, state, project))
    }
}

/// Returns the offset at which reading begins, so that a secret that begins before the range is masked.
fn read_start(project: &Project, range: &Range<i64>) -> i64 {
    (range.start - i64::try_from(project.runners_token.len()).unwrap_or(0)).max(0)
}

async fn list_chunks(
    connection: &mut Connection,
    project: &Project,
    id: BuildId,
    range: &Range<i64>,
) -> Result<Vec<TraceChunk>> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    Ok(trace::list_chunks_between(connection, id, read_start(project, range), range.end).await?)
}

/// Reads a range of a trace. Users who may read builds must not see the token that registers runners.
async fn read(app: &App, chunks: Vec<TraceChunk>, project: &Project, range: &Range<i64>) -> Result<Vec<u8>> {
    let start = read_start(project, range);
    let mut content = Vec::new();
    for chunk in chunks {
        let from = u64::try_from(start - chunk.start).unwrap_or(0);
        let to = u64::try_from((range.end - chunk.start).min(chunk.bytes)).unwrap_or(0);
        match (chunk.content, chunk.object_key) {
            (Some(bytes), _) => {
                let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0));
                content.extend_from_slice(bytes.get(from..to).unwrap_or_default());
            }
            (None, Some(key)) => {
                let found = app.objects.get_range(&key, from..to).await?;
                let mut parts = found.ok_or_else(|| missing("is missing in the object store"))?;
                while let Some(bytes) = parts.try_next().await? {
                    content.extend_from_slice(&bytes);
                }
            }
            (None, None) => return Err(missing("has neither content nor an object key")),
        }
    }
    if !project.runners_token.is_empty() {
        redact(&mut content, project.runners_token.as_bytes());
    }
    let skipped = usize::try_from(range.start - start).unwrap_or(0);
    content.drain(..skipped.min(content.len()));
    Ok(content)
}

fn missing(text: &str) -> Error {
    Error::Internal(format!("a chunk of the trace {text}").into())
}

/// Cuts what was read after its last line, unless the build has ended.
fn whole_lines(mut content: Vec<u8>, start: i64, state: TraceState, project: &Project) -> TracePart {
    let end = start.saturating_add(i64::try_from(content.len()).unwrap_or(i64::MAX));
    let is_end = end >= state.bytes;
    if !is_end || state.status.is_active() {
        content.truncate(shown_bytes(&content, project.runners_token.len()));
    }
    TracePart { start, has_more: !is_end && !content.is_empty(), content }
}

/// Returns how many bytes of a text are shown before its last line has ended. A line that is very long is shown without
/// its end, which may be the beginning of the secret.
fn shown_bytes(content: &[u8], secret_bytes: usize) -> usize {
    let lines = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if content.len() - lines > MAX_LINE_BYTES { content.len() - secret_bytes.min(content.len()) } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_when_it_has_ended() {
        assert_eq!(shown_bytes(b"", 4), 0);
        assert_eq!(shown_bytes(b"a\nb", 4), 2);
        assert_eq!(shown_bytes(b"a\nb\n", 4), 4);
        assert_eq!(shown_bytes(&[b'x'; MAX_LINE_BYTES + 1], 4), MAX_LINE_BYTES - 3);
    }
}

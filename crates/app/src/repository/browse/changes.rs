//! The changes of files between two commits, as a page shows them: a list of the files, and then the diff of each, in
//! bounded memory.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
pub use holdfast_git::diff::{ChangedLines, DiffListing, FileSelection, ListedFile};
use holdfast_git::diff::{Diff, FileDiff, TextLimit};
use holdfast_git::{BareRepository, Error as GitError, ObjectId, SHA1};
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use crate::repository::bounded_stream::{StreamSender, bounded_stream, client_disconnected};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Error, Result};

/// The changes between two commits.
pub struct Changes {
    pub selection: FileSelection,
    pub listing: DiffListing,
    /// The diffs of the listed files, in the order of the list. The stream ends early if the page shows no more lines.
    pub diffs: BoxStream<'static, io::Result<FileChange>>,
}

/// The diff of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub text: FileText,
    /// The number of lines of the whole diff.
    pub lines: u64,
    /// The size of the whole diff.
    pub bytes: u64,
}

/// How much of the diff of a file is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    Whole(Vec<u8>),
    /// The beginning of a long diff, which is shown if no other file is.
    Beginning(Vec<u8>),
    /// Nothing, because the diff has more than [`MAX_FILE_LINES`].
    TooLong,
    /// Nothing, because the page would have more than [`MAX_LINES`].
    PageFull,
}

/// Maximum number of files on a page.
pub const MAX_FILES: usize = 300;
/// Maximum number of lines of one file, unless only that file is shown.
pub const MAX_FILE_LINES: u64 = 500;
/// Maximum number of lines on a page.
pub const MAX_LINES: u64 = 3_000;
/// Number of lines that a diff has before the first changed line, if it adds, removes or replaces a file.
const HEADER_LINES: u64 = 4;
/// Number of diffs that wait for the client.
const MAX_QUEUED_DIFFS: usize = 2;
/// Maximum time that git may take.
const DIFF_TIMEOUT: Duration = Duration::from_secs(20);
pub(in crate::repository) const TIMED_OUT: &str = "The comparison took too long and was canceled.";

/// Returns the error of a search or comparison by git. If it took too long, the error has this message.
pub(in crate::repository) fn explain_timeout(error: GitError, message: &'static str) -> Error {
    match error {
        GitError::TimedOut { .. } => Error::TemporarilyUnavailable(message),
        other => other.into(),
    }
}

/// Compares two commits of a repository. Without the first one, all files of the second are new.
pub(crate) async fn show(
    app: &App,
    repository: &OpenRepository,
    old: Option<ObjectId>,
    new: ObjectId,
    selection: FileSelection,
) -> Result<Changes> {
    let slot = FetchSlot::acquire(app, repository).await?;
    start(app, slot, old.unwrap_or(ObjectId::empty_tree(SHA1)), new, selection).await
}

/// Starts to compare two commits or trees. Returns when the files are known.
pub(super) async fn start(
    app: &App,
    slot: FetchSlot,
    old: ObjectId,
    new: ObjectId,
    selection: FileSelection,
) -> Result<Changes> {
    let slot = Arc::new(slot);
    start_in(app, &slot.cached_repository.bare, slot.clone(), (old, new), selection).await
}

/// Like [`start`], but in any repository. `held` lasts as long as git reads it.
pub(in crate::repository) async fn start_in(
    app: &App,
    repository: &BareRepository,
    held: impl Send + 'static,
    (old, new): (ObjectId, ObjectId),
    selection: FileSelection,
) -> Result<Changes> {
    let is_single = matches!(selection, FileSelection::Only(_));
    let limit = TextLimit::FirstLines(if is_single { MAX_LINES } else { MAX_FILE_LINES } + HEADER_LINES);
    let mut diff = Diff::start_listed(&app.git_runtime.git, repository, old, new, limit)?;
    let started_at = Instant::now();
    let listing = timeout(DIFF_TIMEOUT, diff.read_listing(&selection, MAX_FILES)).await;
    let listing = listing.map_err(|_| Error::TemporarilyUnavailable(TIMED_OUT))??;
    let (mut sender, diffs) = bounded_stream(MAX_QUEUED_DIFFS);
    let mut reader = DiffReader {
        diff,
        remaining_time: DIFF_TIMEOUT.saturating_sub(started_at.elapsed()),
        remaining_lines: MAX_LINES + HEADER_LINES,
        is_single,
    };
    let count = listing.files.len();
    let work = async move {
        let _held = held;
        // A disconnected client is detected even while git produces no output.
        let closed = sender.closed();
        let result = tokio::select! {
            sent = send(&mut reader, count, &mut sender) => sent,
            () = closed => Err(client_disconnected().into()),
        };
        match result {
            Ok(()) => sender.finish().await,
            Err(error) => {
                tracing::info!(%error, "comparing files failed");
                sender.abort(io::Error::other(error));
            }
        }
    };
    tokio::spawn(work.instrument(tracing::Span::current()));
    Ok(Changes { selection, listing, diffs })
}

async fn send(reader: &mut DiffReader, count: usize, sender: &mut StreamSender<FileChange>) -> Result<()> {
    for _ in 0..count {
        let Some(change) = reader.next().await? else { break };
        let size = match &change.text {
            FileText::Whole(text) | FileText::Beginning(text) => text.len(),
            FileText::TooLong | FileText::PageFull => 0,
        };
        sender.send(change, size + PART_OVERHEAD_BYTES).await?;
    }
    Ok(())
}

/// Approximate size of a file on a page without its lines.
const PART_OVERHEAD_BYTES: usize = 1_000;

/// Reads the diffs of files up to the limits of a page.
struct DiffReader {
    diff: Diff,
    remaining_time: Duration,
    remaining_lines: u64,
    is_single: bool,
}

impl DiffReader {
    /// Returns the diff of the next file, or None after the last one, or if no more lines are shown.
    async fn next(&mut self) -> Result<Option<FileChange>> {
        if self.remaining_lines <= HEADER_LINES {
            return Ok(None);
        }
        let started_at = Instant::now();
        let next = timeout(self.remaining_time, self.diff.next()).await;
        let Ok(next) = next else { return Err(Error::TemporarilyUnavailable(TIMED_OUT)) };
        self.remaining_time = self.remaining_time.saturating_sub(started_at.elapsed());
        let Some(FileDiff { text, lines, bytes, .. }) = next? else { return Ok(None) };
        let kept_lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
        let is_cut = kept_lines < lines;
        let text = match () {
            () if is_cut && self.is_single => FileText::Beginning(text),
            () if is_cut => FileText::TooLong,
            () if lines > self.remaining_lines => FileText::PageFull,
            () => {
                self.remaining_lines -= lines;
                FileText::Whole(text)
            }
        };
        Ok(Some(FileChange { text, lines, bytes }))
    }
}

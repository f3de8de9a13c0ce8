//! Compares two commits.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
pub use holdfast_git::diff::FileDiff;
use holdfast_git::diff::{self, Diff, FileLine};
use holdfast_git::reader::Reader;
use holdfast_git::{ObjectId, SHA1, merge_base};
use holdfast_store::projects::project::{Project, ProjectRef};
use tokio::time::Instant;
use tracing::Instrument;

use super::changes::{TIMED_OUT, explain_timeout};
use super::commit::{self, Commit, ProjectCommit, load_listed_with};
use super::revision;
use crate::repository::bounded_stream::{StreamSender, bounded_stream, client_disconnected};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::git_objects::GitObjects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

pub struct Comparison {
    pub project: Project,
    /// The newest of the commits, if there are any.
    pub newest: Option<Commit>,
    /// Whether both revisions are the same commit.
    pub is_same: bool,
    /// All commits, then all files, then the end. Each part is sent before the next is read: there may be very many.
    pub parts: ComparisonParts,
}

pub type ComparisonParts = BoxStream<'static, io::Result<ComparisonPart>>;

pub enum ComparisonPart {
    /// One of the commits, which come oldest first.
    Commit(Box<Commit>),
    File(FileDiff),
    /// The end. `is_too_large` is set if the diff is incomplete or exceeds a limit.
    End {
        is_too_large: bool,
        /// Whether files are missing, because git took too long.
        is_timed_out: bool,
    },
}

/// Maximum time that git may take to compute a diff.
const DIFF_TIMEOUT: Duration = Duration::from_secs(60);
/// Beyond one of these limits a diff is marked as too large, as in the v3 API.
const MAX_FILES: u64 = 100;
const MAX_LINES: u64 = 5000;
const MAX_BYTES: u64 = 512_000;

/// What the changes of a comparison are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonBase {
    /// The merge base of both revisions: changes that only `from` has are left out.
    MergeBase,
    /// The revision `from`: changes that only it has appear reverted.
    From,
}

/// Compares two revisions: the commits that `to` has and `from` has not, and the changes since their merge base.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, from: &str, to: &str) -> Result<Comparison> {
    self::show_since(app, actor, project, from, to, ComparisonBase::MergeBase).await
}

/// Like [`show`], with the changes since a base.
#[crate::boxed]
pub async fn show_since(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    from: &str,
    to: &str,
    base: ComparisonBase,
) -> Result<Comparison> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let from = revision::resolve(app, &repository, from).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let to = revision::resolve(app, &repository, to).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let objects = repository.objects(app).await?.clone();
    let find_commits = objects.read(move |reader| {
        let ids = reader.commits_excluding(&[from], to)?;
        let newest = ids.first().map(|id| reader.commit(*id)).transpose()?;
        Ok((ids, newest))
    });
    let slot = FetchSlot::acquire(app, &repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    // Git computes the diff while the commits are searched.
    let start_diff = async {
        let base = match base {
            ComparisonBase::MergeBase => merge_base::find(git, bare, from, to).await?,
            ComparisonBase::From => Some(from),
        };
        Ok(Diff::start(git, bare, base.unwrap_or(ObjectId::empty_tree(SHA1)), to)?)
    };
    let ((ids, newest), diff) = tokio::try_join!(find_commits, start_diff)?;
    let parts = stream_parts(slot, objects, ids, diff);
    let (project, newest) = (repository.project, newest.map(Into::into));
    Ok(Comparison { project, newest, is_same: from == to, parts })
}

/// Maximum number of revisions whose merge base is searched. Arbitrary.
const MAX_REVISIONS: usize = 20;

/// Returns the best common ancestor of at least two revisions.
#[crate::boxed]
pub async fn show_merge_base(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revisions: &[String],
) -> Result<ProjectCommit> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    if !(2..=MAX_REVISIONS).contains(&revisions.len()) {
        return Err(Error::Rejected(format!("Provide at least 2 refs, and at most {MAX_REVISIONS}")));
    }
    let mut base = None;
    for revision in revisions {
        let found = revision::resolve(app, &repository, revision).await?;
        let id = found.ok_or_else(|| Error::Rejected(format!("Could not find ref: {revision}")))?;
        base = match base {
            None => Some(id),
            Some(base) => {
                let found = find_merge_base(app, &repository, Some(base), id).await?;
                Some(found.ok_or(Error::NotFound(Resource::Literal("404 Merge Base Not Found")))?)
            }
        };
    }
    let id = base.ok_or(Error::NotFound(Resource::Commit))?;
    let commit = commit::load(app, &repository, id).await?;
    Ok(ProjectCommit { project: repository.project, commit })
}

/// Returns the changes of the files of a commit since its first parent, as parts without commits.
#[crate::boxed]
pub async fn show_commit(app: &App, actor: &Actor, project: &ProjectRef, revision: &str) -> Result<ComparisonParts> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let objects = repository.objects(app).await?.clone();
    let parent = objects.read(move |reader| Ok(reader.parents(id)?.first().copied())).await?;
    show_changes(app, &repository, parent, id).await
}

/// Reads a page of the files of a comparison. The files behind it are not read, so that the total is known only on the
/// last page.
pub async fn read_files(mut parts: ComparisonParts, page: PageRequest) -> Result<Page<FileDiff>> {
    let (first, end) = (page.offset(), page.offset().saturating_add(page.size()));
    let (mut items, mut position) = (Vec::new(), 0);
    while let Some(part) = parts.next().await {
        match part.map_err(|cause| Error::Internal(cause.into()))? {
            ComparisonPart::File(_) if position >= end => {
                return Ok(Page { items, request: page, total: None, has_next: true });
            }
            ComparisonPart::File(file) => {
                items.extend((position >= first).then_some(file));
                position += 1;
            }
            ComparisonPart::Commit(_) => {}
            ComparisonPart::End { is_timed_out: true, .. } => return Err(Error::TemporarilyUnavailable(TIMED_OUT)),
            ComparisonPart::End { .. } => break,
        }
    }
    Ok(Page::with_total(items, page, usize::try_from(position).unwrap_or_default()))
}

/// Returns the changes of files between two commits, as parts without commits. Without the first one, all files of the
/// second are new.
pub(crate) async fn show_changes(
    app: &App,
    repository: &OpenRepository,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<ComparisonParts> {
    let objects = repository.objects(app).await?.clone();
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let diff = Diff::start(git, bare, old.unwrap_or(ObjectId::empty_tree(SHA1)), new)?;
    Ok(stream_parts(slot, objects, Vec::new(), diff))
}

/// Returns at most `limit` commits that `new` has and `old` has not, newest first.
pub(crate) async fn list_commits(
    app: &App,
    repository: &OpenRepository,
    old: Option<ObjectId>,
    new: ObjectId,
    limit: usize,
) -> Result<Vec<Commit>> {
    let excluded: Vec<ObjectId> = old.into_iter().collect();
    let find = move |reader: &Reader| {
        let mut ids = reader.commits_excluding(&excluded, new)?;
        ids.truncate(limit);
        load_listed_with(reader, ids)
    };
    repository.objects(app).await?.read(find).await
}

/// Returns which of the wanted commits `new` has and `old` has not.
pub(crate) async fn find_added(
    app: &App,
    repository: &OpenRepository,
    old: Option<ObjectId>,
    new: ObjectId,
    wanted: HashSet<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    let excluded: Vec<ObjectId> = old.into_iter().collect();
    let find = move |reader: &Reader| {
        let added = reader.commits_excluding(&excluded, new)?;
        Ok(added.into_iter().filter(|id| wanted.contains(id)).collect())
    };
    repository.objects(app).await?.read(find).await
}

/// Finds where lines of one commit are in another one. The result has the order of `lines`; it is None for a line that was
/// changed or removed.
pub(crate) async fn follow_lines(
    app: &App,
    repository: &OpenRepository,
    old: ObjectId,
    new: ObjectId,
    lines: &[FileLine],
) -> Result<Vec<Option<FileLine>>> {
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    diff::follow_lines(git, bare, old, new, lines).await.map_err(|error| explain_timeout(error, TIMED_OUT))
}

/// Returns the merge base of two commits, if they have one.
pub(crate) async fn find_merge_base(
    app: &App,
    repository: &OpenRepository,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<Option<ObjectId>> {
    let Some(old) = old else { return Ok(None) };
    let slot = FetchSlot::acquire(app, repository).await?;
    let base = merge_base::find(&app.git_runtime.git, &slot.cached_repository.bare, old, new).await;
    base.map_err(|error| explain_timeout(error, TIMED_OUT))
}

/// Returns the merge base of two commits, if they have one, and the number of files that differ between it and `new`.
pub(crate) async fn count_changed_files(
    app: &App,
    repository: &OpenRepository,
    old: Option<ObjectId>,
    new: ObjectId,
) -> Result<(Option<ObjectId>, u64)> {
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let explain = |error| explain_timeout(error, TIMED_OUT);
    let base = match old {
        Some(old) => merge_base::find(git, bare, old, new).await.map_err(explain)?,
        None => None,
    };
    let summary = diff::summarize(git, bare, base.unwrap_or(ObjectId::empty_tree(SHA1)), new).await;
    Ok((base, summary.map_err(explain)?.files))
}

/// Sends commits and files on a task of its own, which ends when the client disconnects.
fn stream_parts(slot: FetchSlot, objects: GitObjects, ids: Vec<ObjectId>, diff: Diff) -> ComparisonParts {
    let (mut sender, parts) = bounded_stream(64);
    let work = async move {
        let _slot = slot;
        // A disconnected client is detected even while git produces no output.
        let closed = sender.closed();
        let send = async {
            send_commits(&objects, ids, &mut sender).await?;
            send_files(diff, &mut sender).await
        };
        let result = tokio::select! {
            sent = send => sent,
            () = closed => Err(client_disconnected().into()),
        };
        match result {
            Ok(()) => sender.finish().await,
            Err(error) => {
                tracing::info!(%error, "comparing commits failed");
                sender.abort(io::Error::other(error));
            }
        }
    };
    tokio::spawn(work.instrument(tracing::Span::current()));
    parts
}

/// Number of commits that are in memory at a time.
const COMMIT_BATCH_SIZE: usize = 100;

async fn send_commits(
    objects: &GitObjects,
    ids: Vec<ObjectId>,
    sender: &mut StreamSender<ComparisonPart>,
) -> Result<()> {
    for batch in ids.rchunks(COMMIT_BATCH_SIZE) {
        let batch = batch.to_vec();
        let commits = objects.read(move |reader| load_listed_with(reader, batch)).await?;
        for commit in commits.into_iter().rev() {
            let size = PART_OVERHEAD_BYTES + commit.message.len();
            sender.send(ComparisonPart::Commit(Box::new(commit)), size).await?;
        }
    }
    Ok(())
}

/// Approximate size of a part without its text.
const PART_OVERHEAD_BYTES: usize = 500;

async fn send_files(mut diff: Diff, sender: &mut StreamSender<ComparisonPart>) -> Result<()> {
    let mut remaining_time = DIFF_TIMEOUT;
    let (mut files, mut lines, mut bytes) = (0, 0, 0);
    let is_timed_out = loop {
        let started_at = Instant::now();
        let Ok(next) = tokio::time::timeout(remaining_time, diff.next()).await else { break true };
        remaining_time = remaining_time.saturating_sub(started_at.elapsed());
        let Some(file) = next? else { break false };
        files += 1;
        lines += file.lines;
        bytes += file.bytes;
        let size = PART_OVERHEAD_BYTES + file.text.len();
        sender.send(ComparisonPart::File(file), size).await?;
    };
    let is_too_large = is_timed_out || files > MAX_FILES || lines > MAX_LINES || bytes > MAX_BYTES;
    Ok(sender.send(ComparisonPart::End { is_too_large, is_timed_out }, PART_OVERHEAD_BYTES).await?)
}

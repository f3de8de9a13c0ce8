//! Reads the contents of files.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::reader::{EntryKind, Kind};
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::commit::{self, Commit};
use super::{last_commit, revision, tree};
use crate::large_response::MAX_SMALL_BYTES;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::ref_address::DefaultBranch;
use crate::repository::transfer::fetch::{self, ResponseStream};
use crate::repository::{object_lookup, objects};
use crate::{Actor, App, Error, Resource, Result};

pub struct Blob {
    pub id: ObjectId,
    pub bytes: u64,
    pub content: ResponseStream,
}

/// Returns the content of a file at a commit.
#[crate::boxed]
pub async fn show_at_path(app: &App, actor: &Actor, project: &ProjectRef, revision: &str, path: &str) -> Result<Blob> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let found = tree::find(app, &repository, commit, path.into()).await?;
    let file = found.filter(|entry| entry.kind() == EntryKind::File).ok_or(Error::NotFound(Resource::File))?;
    read_blob(app, &repository, file.id).await
}

/// Returns a blob by its id, or by the beginning of its id.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: &str) -> Result<Blob> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let id = object_lookup::find_reachable(app, &repository, id, Kind::Blob)
        .await?
        .ok_or(Error::NotFound(Resource::Blob))?;
    read_blob(app, &repository, id).await
}

/// A file at a revision, with what its page shows.
#[derive(Clone, Debug)]
pub struct File {
    pub project: Project,
    /// The revision as the address names it.
    pub revision: String,
    pub path: String,
    /// Whether the revision is a branch.
    pub is_branch: bool,
    pub is_symbolic_link: bool,
    /// The id of the content.
    pub id: ObjectId,
    /// The commit of the revision, shortened as in a list.
    pub commit: Commit,
    pub bytes: u64,
    /// None if the file is too large to be shown.
    pub content: Option<Bytes>,
    pub default_branch: Option<DefaultBranch>,
}

/// A file that the address of a page names. Its content has not been read.
pub struct LocatedFile {
    pub(super) repository: OpenRepository,
    /// The revision as the address names it.
    pub revision: String,
    pub path: String,
    /// The id of the commit of the revision.
    pub commit: ObjectId,
    /// The id of the content.
    pub id: ObjectId,
    pub is_symbolic_link: bool,
}

impl LocatedFile {
    pub const fn project(&self) -> &Project {
        &self.repository.project
    }

    /// Returns whether the revision is a branch.
    pub fn is_branch(&self) -> bool {
        revision::find_branch(&*self.repository.refs, &self.revision).is_some()
    }

    pub fn default_branch(&self) -> Option<DefaultBranch> {
        DefaultBranch::find(&self.repository.refs)
    }
}

/// Finds the file that the end of a page's address names, such as `main/src/lib.rs`.
#[crate::boxed]
pub async fn locate(app: &App, actor: &Actor, project: &ProjectRef, address: &str) -> Result<LocatedFile> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let (revision, path) = revision::split_address(&*repository.refs, address);
    let (revision, path) = (revision.to_owned(), path.to_owned());
    locate_opened(app, repository, revision, path).await
}

/// Finds the file with this path at a revision.
#[crate::boxed]
pub async fn locate_at_path(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    path: &str,
) -> Result<LocatedFile> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    locate_opened(app, repository, revision.to_owned(), path.to_owned()).await
}

async fn locate_opened(app: &App, repository: OpenRepository, revision: String, path: String) -> Result<LocatedFile> {
    let commit = revision::resolve(app, &repository, &revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let entry = tree::find(app, &repository, commit, path.as_str().into()).await?;
    let file = entry.filter(|entry| entry.kind() == EntryKind::File).ok_or(Error::NotFound(Resource::File))?;
    let is_symbolic_link = file.is_symbolic_link();
    Ok(LocatedFile { revision, path, commit, id: file.id, is_symbolic_link, repository })
}

/// Returns the commit that last changed a file. Returns None if it was not found in a short time.
pub async fn find_last_commit(app: &App, file: &LocatedFile) -> Result<Option<Commit>> {
    last_commit::load_for_file(app, &file.repository, file.commit, &file.path).await
}

/// Reads what the page of a file shows, with its content if that has at most `max_bytes`.
#[crate::boxed]
pub async fn read_file(app: &App, file: LocatedFile, max_bytes: u64) -> Result<File> {
    let (default_branch, is_branch) = (file.default_branch(), file.is_branch());
    let LocatedFile { repository, revision, path, commit, id, is_symbolic_link } = file;
    let (bytes, content) = read_buffered(app, &repository, id, max_bytes).await?;
    let commit = commit::load_one_listed(app, &repository, commit).await?;
    let project = repository.project;
    Ok(File { project, revision, path, is_branch, is_symbolic_link, id, commit, bytes, content, default_branch })
}

/// Reads the bytes of a file.
pub async fn read_raw(app: &App, file: &LocatedFile) -> Result<Blob> {
    read_blob(app, &file.repository, file.id).await
}

/// Maximum size of a blob that is read into memory. Git streams larger ones.
const MAX_BUFFERED_BYTES: u64 = 4 << 20;

/// Reads a blob of at most `max_bytes` into memory. Returns its size and its content. The content is None if the blob
/// is larger, or is stored as a delta of a large object.
pub(crate) async fn read_buffered(
    app: &App,
    repository: &OpenRepository,
    id: ObjectId,
    max_bytes: u64,
) -> Result<(u64, Option<Bytes>)> {
    let read = objects::read(app, repository, move |reader| {
        let (_, bytes) = reader.header(id)?.ok_or(Error::NotFound(Resource::Blob))?;
        // Reading a small blob fails if it is a delta of a large object.
        let content = if bytes <= MAX_SMALL_BYTES.min(max_bytes) { reader.content(id).ok() } else { None };
        Ok((bytes, content))
    });
    let (bytes, content) = read.await?;
    let mut content = content.map(Bytes::from);
    if MAX_SMALL_BYTES < bytes && bytes <= max_bytes {
        // Acquired before the content is read, so that a waiting request keeps nothing in memory.
        let permit = app.large_responses.acquire(repository.client, bytes).await?;
        let read = objects::read(app, repository, move |reader| Ok(reader.content(id).ok()));
        content = read.await?.map(|content| permit.attach_to(content.into()));
    }
    Ok((bytes, content))
}

/// Counts the lines of a file at a commit. Returns None if there is no such file, or if it is too large to be read into
/// memory.
pub(crate) async fn count_lines(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    path: &TreePath,
) -> Result<Option<u64>> {
    let found = tree::find(app, repository, commit, path.as_str().into()).await?;
    let Some(file) = found.filter(|entry| entry.kind() == EntryKind::File) else { return Ok(None) };
    let (_, content) = read_buffered(app, repository, file.id, MAX_BUFFERED_BYTES).await?;
    let count = |content: Bytes| {
        let has_last_line = content.last().is_some_and(|byte| *byte != b'\n');
        content.iter().filter(|byte| **byte == b'\n').count() as u64 + u64::from(has_last_line)
    };
    Ok(content.map(count))
}

pub(super) async fn read_blob(app: &App, repository: &OpenRepository, id: ObjectId) -> Result<Blob> {
    let (bytes, content) = read_buffered(app, repository, id, MAX_BUFFERED_BYTES).await?;
    let content = match content {
        Some(content) => stream::iter([Ok(content)]).boxed(),
        None => {
            let slot = FetchSlot::acquire(app, repository).await?;
            let command = app.git_runtime.git.command(&slot.cached_repository.bare, "cat-file").arg("blob").arg_oid(id);
            fetch::run_unshared(app, command, Bytes::new(), slot).await?
        }
    };
    Ok(Blob { id, bytes, content })
}

//! Reads a file at a revision with the commit that last changed it.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, TryStreamExt};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::commits::{self, CommitQuery};
use holdfast_git::reader::EntryKind;
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::projects::project::ProjectRef;
use sha2::{Digest, Sha256};

use super::blob::{self, Blob};
use super::changes::explain_timeout;
use super::{last_commit, revision, tree};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::transfer::fetch::ResponseStream;
use crate::{Actor, App, Error, Resource, Result};

/// A file at a revision.
pub struct FileAtRevision {
    pub path: String,
    /// The revision as the client names it.
    pub revision: String,
    pub blob: Blob,
    /// The commit of the revision.
    pub commit_id: ObjectId,
    /// The commit that last changed the file. [`show`] always finds it.
    pub last_commit_id: Option<ObjectId>,
    pub is_executable: bool,
}

/// How long the commit that last changed a file is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastCommitSearch {
    UntilFound,
    Short,
}

/// Returns a file at a revision.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    path: &str,
    revision: &str,
) -> Result<FileAtRevision> {
    find(app, actor, project, path, revision, LastCommitSearch::UntilFound).await
}

/// Like [`show`], but leaves the last commit out if it is not found in a short time.
#[crate::boxed]
pub async fn show_quickly(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    path: &str,
    revision: &str,
) -> Result<FileAtRevision> {
    find(app, actor, project, path, revision, LastCommitSearch::Short).await
}

async fn find(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    path: &str,
    revision: &str,
    search: LastCommitSearch,
) -> Result<FileAtRevision> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit_id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let path = TreePath::new(path.trim_start_matches('/')).ok_or(Error::NotFound(Resource::File))?;
    let found = tree::find(app, &repository, commit_id, path.as_str().into()).await?;
    let file = found.filter(|entry| entry.kind() == EntryKind::File).ok_or(Error::NotFound(Resource::File))?;
    let last_commit_id = match search {
        LastCommitSearch::UntilFound => Some(find_last_commit(app, &repository, commit_id, &path).await?),
        LastCommitSearch::Short => {
            last_commit::load_for_file(app, &repository, commit_id, path.as_str()).await?.map(|commit| commit.id)
        }
    };
    let blob = blob::read_blob(app, &repository, file.id).await?;
    let (path, revision) = (path.as_str().to_owned(), revision.to_owned());
    let is_executable = file.mode == EXECUTABLE_MODE;
    Ok(FileAtRevision { path, revision, blob, commit_id, last_commit_id, is_executable })
}

/// The mode of an executable file in a tree.
const EXECUTABLE_MODE: u16 = 0o100755;

/// Returns the commit that last changed a file which exists at a commit.
async fn find_last_commit(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    path: &TreePath,
) -> Result<ObjectId> {
    if let Some(last_commit) = last_commit::load_for_file(app, repository, commit, path.as_str()).await? {
        return Ok(last_commit.id);
    }
    let slot = FetchSlot::acquire(app, repository).await?;
    let query = CommitQuery { path: Some(path), ..CommitQuery::new(commit) };
    let found = commits::list(&app.git_runtime.git, &slot.cached_repository.bare, query, 1).await;
    let found = found.map_err(|error| explain_timeout(error, "The history of this file is too long to be searched"))?;
    Ok(found.first().copied().unwrap_or(commit))
}

/// The SHA-256 digest of a content, which is computed while the content is read.
pub struct ContentDigest(Arc<Mutex<Sha256>>);

impl ContentDigest {
    /// Returns the content again, and the digest of what has been read of it.
    pub fn attach_to(content: ResponseStream) -> (ResponseStream, Self) {
        let digest = Arc::new(Mutex::new(Sha256::new()));
        let hasher = digest.clone();
        let content = content.inspect_ok(move |chunk| {
            hasher.lock().unwrap_or_else(PoisonError::into_inner).update(chunk);
        });
        (content.boxed(), Self(digest))
    }

    /// Returns the digest in hexadecimal digits. The content must have been read to its end.
    pub fn finish(&self) -> String {
        hex::encode(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().finalize())
    }
}

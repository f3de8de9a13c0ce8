//! Reads a file at a revision with the commit that last changed it.

use holdfast_domain::policy::ProjectAction;
use holdfast_git::commits::{self, CommitQuery};
use holdfast_git::reader::EntryKind;
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::projects::project::ProjectRef;

use super::blob::{self, Blob};
use super::changes::explain_timeout;
use super::{last_commit, revision, tree};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

/// A file at a revision.
pub struct FileAtRevision {
    pub path: String,
    /// The revision as the client names it.
    pub revision: String,
    pub blob: Blob,
    pub blob_id: ObjectId,
    /// The commit of the revision.
    pub commit_id: ObjectId,
    /// The commit that last changed the file.
    pub last_commit_id: ObjectId,
}

#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    path: &str,
    revision: &str,
) -> Result<FileAtRevision> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit_id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let path = TreePath::new(path.trim_start_matches('/')).ok_or(Error::NotFound(Resource::File))?;
    let found = tree::find(app, &repository, commit_id, path.as_str().into()).await?;
    let file = found.filter(|entry| entry.kind() == EntryKind::File).ok_or(Error::NotFound(Resource::File))?;
    let last_commit_id = find_last_commit(app, &repository, commit_id, &path).await?;
    let blob = blob::read_blob(app, &repository, file.id).await?;
    let (path, revision) = (path.as_str().to_owned(), revision.to_owned());
    Ok(FileAtRevision { path, revision, blob, blob_id: file.id, commit_id, last_commit_id })
}

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

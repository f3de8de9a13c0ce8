//! Reads the contents of files.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::reader::{EntryKind, Kind};
use holdfast_store::projects::project::ProjectRef;

use super::{revision, tree};
use crate::large_response::MAX_SMALL_BYTES;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::transfer::fetch::{self, ResponseStream};
use crate::repository::{object_lookup, objects};
use crate::{Actor, App, Error, Resource, Result};

pub struct Blob {
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

/// Maximum size of a blob that is read into memory. Git streams larger ones.
const MAX_BUFFERED_BYTES: u64 = 4 << 20;

async fn read_blob(app: &App, repository: &OpenRepository, id: ObjectId) -> Result<Blob> {
    let read = objects::read(app, repository, move |reader| {
        let (_, bytes) = reader.header(id)?.ok_or(Error::NotFound(Resource::Blob))?;
        // Reading a small blob fails if it is a delta of a large object. Git streams it then.
        let content = if bytes <= MAX_SMALL_BYTES { reader.content(id).ok() } else { None };
        Ok((bytes, content))
    });
    let (bytes, content) = read.await?;
    let mut content = content.map(Bytes::from);
    if MAX_SMALL_BYTES < bytes && bytes <= MAX_BUFFERED_BYTES {
        // Acquired before the content is read, so that a waiting request keeps nothing in memory.
        let permit = app.large_responses.acquire(repository.client, bytes).await?;
        let read = objects::read(app, repository, move |reader| Ok(reader.content(id).ok()));
        content = read.await?.map(|content| permit.attach_to(content.into()));
    }
    let content = match content {
        Some(content) => stream::iter([Ok(content)]).boxed(),
        None => {
            let slot = FetchSlot::acquire(app, repository).await?;
            let command = app.git_runtime.git.command(&slot.cached_repository.bare, "cat-file").arg("blob").arg_oid(id);
            fetch::run_unshared(app, command, Bytes::new(), slot).await?
        }
    };
    Ok(Blob { bytes, content })
}

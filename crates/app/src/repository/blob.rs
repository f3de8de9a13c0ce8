//! The contents of files.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::reader::{EntryKind, Kind};
use holdfast_store::projects::project::ProjectRef;

use super::fetch::{self, Answer, Held, Opened};
use super::{commit, reach, revision, tree};
use crate::{Actor, App, Error, Result, Thing};

pub struct Blob {
    pub bytes: u64,
    pub content: Answer,
}

/// What a file held at a commit.
pub async fn at_path(app: &App, actor: &Actor, project: &ProjectRef, revision: &str, path: &str) -> Result<Blob> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let at = revision::resolve(app, &opened, revision).await?.ok_or(Error::NotFound(Thing::Commit))?;
    let found = tree::find(app, &opened, at, path.trim_start_matches('/').into()).await?;
    let file = found.filter(|entry| entry.kind() == EntryKind::File).ok_or(Error::NotFound(Thing::File))?;
    content(app, &opened, file.id).await
}

/// By its id or the beginning of that.
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: &str) -> Result<Blob> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let id = reach::find(app, &opened, id, Kind::Blob).await?.ok_or(Error::NotFound(Thing::Blob))?;
    content(app, &opened, id).await
}

/// Larger ones are written by git as they are read.
const READ_AT_ONCE: u64 = 4 << 20;

async fn content(app: &App, opened: &Opened, id: ObjectId) -> Result<Blob> {
    let read = commit::read(app, opened, move |reader| {
        let (_, bytes) = reader.header(id)?.ok_or(Error::NotFound(Thing::Blob))?;
        let content = if bytes <= READ_AT_ONCE { Some(reader.content(id)?) } else { None };
        Ok((bytes, content))
    });
    let (bytes, content) = read.await?;
    let content = match content {
        Some(content) => stream::iter([Ok(Bytes::from(content))]).boxed(),
        None => {
            let turns = app.engine.turn_to_fetch(opened.project.repository.id).await;
            let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
            let command = app.engine.git.command(lease.bare.directory(), "cat-file").word("blob").id(id);
            fetch::send(command, Bytes::new(), Held { _view: None, _lease: lease, _turns: turns })?
        }
    };
    Ok(Blob { bytes, content })
}

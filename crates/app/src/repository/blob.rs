//! The contents of files.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::reader::{EntryKind, Kind};
use holdfast_store::projects::project::ProjectRef;

use super::fetch::{self, Answer, Opened};
use super::{objects, reach, revision, tree};
use crate::large_response::MAX_SMALL_BYTES;
use crate::{Actor, App, Error, Result, Thing};

pub struct Blob {
    pub bytes: u64,
    pub content: Answer,
}

/// What a file held at a commit.
pub async fn at_path(app: &App, actor: &Actor, project: &ProjectRef, revision: &str, path: &str) -> Result<Blob> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let at = revision::resolve(app, &opened, revision).await?.ok_or(Error::NotFound(Thing::Commit))?;
    let found = tree::find(app, &opened, at, path.into()).await?;
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
    let read = objects::read(app, opened, move |reader| {
        let (_, bytes) = reader.header(id)?.ok_or(Error::NotFound(Thing::Blob))?;
        // What is small may be made of something large, which is not read here either.
        let content = if bytes <= MAX_SMALL_BYTES { reader.content(id).ok() } else { None };
        Ok((bytes, content))
    });
    let (bytes, content) = read.await?;
    let mut content = content.map(Bytes::from);
    if MAX_SMALL_BYTES < bytes && bytes <= READ_AT_ONCE {
        // Before the content is read: whoever waits keeps nothing in memory.
        let permit = app.large_responses.acquire(opened.client, bytes).await?;
        let read = objects::read(app, opened, move |reader| Ok(reader.content(id).ok()));
        content = read.await?.map(|content| permit.hold(content.into()));
    }
    let content = match content {
        Some(content) => stream::iter([Ok(content)]).boxed(),
        None => {
            let held = fetch::hold(app, opened).await?;
            let command = app.engine.git.command(&held.lease.bare, "cat-file").word("blob").id(id);
            fetch::send(app, command, Bytes::new(), held).await?
        }
    };
    Ok(Blob { bytes, content })
}

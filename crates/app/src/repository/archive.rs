//! The files of a commit in one file.

use std::io::Write;

use bytes::Bytes;
use bzip2::Compression;
use bzip2::write::BzEncoder;
use futures_util::StreamExt;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
pub use holdfast_git::archive::Format;
use holdfast_git::archive::{self, Name};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::protocol::archive::ArchiveRequest;
use holdfast_store::projects::project::ProjectRef;
use tokio::runtime::Handle;

use super::fetch::{self, Answer, Opened};
use super::outlet::outlet;
use super::revision;
use crate::{Actor, App, Error, Result, Thing};

/// As `git archive --remote` asks for it: of a commit that a ref of this project leads to, and of no other.
pub async fn answer(app: &App, opened: &Opened, request: &ArchiveRequest) -> Result<Answer> {
    let commit: ObjectId = revision::resolve(app, opened, &request.revision).await?.ok_or_else(|| {
        Error::Refused(format!("{:?} is no branch, no tag and no id of a commit here", request.revision))
    })?;
    let held = fetch::hold(app, opened).await?;
    let bare = &held.lease.bare;
    // That it may be given out is known by now; git would look for refs on the disk.
    let command = app.engine.git.command_with(bare, "upload-archive", ["uploadArchive.allowUnreachable=true"]);
    let command = command.path(bare.directory());
    fetch::send(app, command, request.about(commit).freeze(), held).await
}

pub struct Archive {
    pub file_name: String,
    pub content: Answer,
}

/// Of the default branch if no revision is given.
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: Option<&str>,
    format: Format,
) -> Result<Archive> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve_or_head(app, &opened, revision).await?.ok_or(Error::NotFound(Thing::File))?;
    let head = opened.refs.head();
    let head = head.strip_prefix("refs/heads/").unwrap_or(head);
    let named = revision.filter(|revision| !revision.is_empty()).unwrap_or(head);
    let name = Name::new(&opened.project.path, named, commit);
    let held = fetch::hold(app, &opened).await?;
    let command = archive::command(&app.engine.git, &held.lease.bare, commit, format, &name);
    let content = fetch::send(app, command, Bytes::new(), held).await?;
    let content = if format == Format::TarBz2 { compressed(content) } else { content };
    Ok(Archive { file_name: format!("{}.{}", name.as_str(), format.suffix()), content })
}

/// In a thread of its own: this is slow.
fn compressed(mut tar: Answer) -> Answer {
    let (mut outlet, answer) = outlet(1);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let mut compress = || {
            let mut encoder = BzEncoder::new(Vec::new(), Compression::default());
            while let Some(chunk) = runtime.block_on(tar.next()) {
                encoder.write_all(&chunk?)?;
                let some = std::mem::take(encoder.get_mut());
                if !some.is_empty() {
                    let bytes = some.len();
                    runtime.block_on(outlet.send(Bytes::from(some), bytes))?;
                }
            }
            let rest = encoder.finish()?;
            let bytes = rest.len();
            runtime.block_on(outlet.send(Bytes::from(rest), bytes))
        };
        match compress() {
            Ok(()) => runtime.block_on(outlet.end()),
            Err(error) => outlet.break_off(error),
        }
    });
    answer
}

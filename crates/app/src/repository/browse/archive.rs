//! Archives of the files of a commit.

use std::io::Write;

use bytes::Bytes;
use bzip2::Compression;
use bzip2::write::BzEncoder;
use futures_util::StreamExt;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
pub use holdfast_git::archive::ArchiveFormat;
use holdfast_git::archive::{self, ArchiveName};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::archive::ArchiveRequest;
use holdfast_store::projects::project::{Project, ProjectRef};
use tokio::runtime::Handle;

use super::revision;
use crate::repository::bounded_stream::bounded_stream;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::transfer::fetch::{self, ResponseStream};
use crate::{Actor, App, Error, Resource, Result};

/// Serves `git archive --remote`. Rejects a commit that no ref of this project reaches.
#[crate::boxed]
pub async fn serve(app: &App, repository: &OpenRepository, request: &ArchiveRequest) -> Result<ResponseStream> {
    let commit: ObjectId = revision::resolve(app, repository, &request.revision).await?.ok_or_else(|| {
        Error::Rejected(format!("{:?} is not a branch, a tag or a commit id of this repository", request.revision))
    })?;
    let slot = FetchSlot::acquire(app, repository).await?;
    let bare = &slot.cached_repository.bare;
    // The commit has been checked already, and git would check it against refs on disk, which the cached repository
    // does not have.
    let command = app.git_runtime.git.command_with(bare, "upload-archive", ["uploadArchive.allowUnreachable=true"]);
    let command = command.arg_path(bare.directory());
    fetch::run_unshared(app, command, request.to_pkt_lines(commit).freeze(), slot).await
}

pub struct Archive {
    pub project: Project,
    pub file_name: String,
    pub content: ResponseStream,
}

/// Returns an archive of a revision, or of the default branch if none is given.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: Option<&str>,
    format: ArchiveFormat,
) -> Result<Archive> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve_or_head(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::File))?;
    let head = repository.refs.head();
    let head = head.strip_prefix("refs/heads/").unwrap_or(head);
    let revision_name = revision.filter(|revision| !revision.is_empty()).unwrap_or(head);
    let name = ArchiveName::new(&repository.project.path, revision_name, commit);
    let slot = FetchSlot::acquire(app, &repository).await?;
    let command = archive::command(&app.git_runtime.git, &slot.cached_repository.bare, commit, format, &name);
    let content = fetch::run_unshared(app, command, Bytes::new(), slot).await?;
    let content = if format == ArchiveFormat::TarBz2 { compress_bzip2(content) } else { content };
    let file_name = format!("{}.{}", name.as_str(), format.suffix());
    Ok(Archive { project: repository.project, file_name, content })
}

/// Compresses a tar stream on a blocking thread, since this is slow.
fn compress_bzip2(mut tar: ResponseStream) -> ResponseStream {
    let (mut sender, compressed_stream) = bounded_stream(1);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let mut compress = || {
            let mut encoder = BzEncoder::new(Vec::new(), Compression::default());
            while let Some(chunk) = runtime.block_on(tar.next()) {
                encoder.write_all(&chunk?)?;
                let compressed_chunk = std::mem::take(encoder.get_mut());
                if !compressed_chunk.is_empty() {
                    let bytes = compressed_chunk.len();
                    runtime.block_on(sender.send(Bytes::from(compressed_chunk), bytes))?;
                }
            }
            let rest = encoder.finish()?;
            let bytes = rest.len();
            runtime.block_on(sender.send(Bytes::from(rest), bytes))
        };
        match compress() {
            Ok(()) => runtime.block_on(sender.finish()),
            Err(error) => sender.abort(error),
        }
    });
    compressed_stream
}

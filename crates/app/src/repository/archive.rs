//! The files of a commit in one file, as `git archive --remote` asks for them.

use holdfast_git::ObjectId;
use holdfast_git::protocol::archive::ArchiveRequest;

use super::fetch::{self, Answer, Held, Opened};
use super::revision;
use crate::{App, Error, Result};

/// Of a commit that a ref of this project leads to, and of no other.
pub async fn answer(app: &App, opened: &Opened, request: &ArchiveRequest) -> Result<Answer> {
    let commit = match request.revision.as_str() {
        "HEAD" => opened.refs.head_target(),
        text => revision::resolve(app, opened, text).await?,
    };
    let commit: ObjectId = commit.ok_or_else(|| {
        Error::Refused(format!("{:?} is no branch, no tag and no full id of a commit here", request.revision))
    })?;
    let turns = app.engine.turn_to_fetch(opened.project.repository.id).await;
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    let directory = lease.bare.directory();
    // That it may be given out is known by now; git would look for refs on the disk.
    let command = app.engine.git.command_with(directory, "upload-archive", ["uploadArchive.allowUnreachable=true"]);
    let command = command.path(directory);
    fetch::send(command, request.about(commit).freeze(), Held { _view: None, _lease: lease, _turns: turns })
}

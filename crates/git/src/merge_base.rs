//! Where two histories parted.

use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::{Bare, Error, Git, Result, lines};

const PATIENCE: Duration = Duration::from_secs(60);

/// Of several commits git's own choice, which everybody's differences start from. None if they have nothing in common.
pub async fn find(git: &Git, bare: &Bare, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
    let command = git.command(bare.directory(), "merge-base").id(one).id(other);
    let Some(answer) = command.ask(b"", 1000, PATIENCE).await? else { return Ok(None) };
    let id = lines::id(answer.trim_end()).ok_or_else(|| Error::protocol("git merge-base wrote what is no id"))?;
    Ok(Some(id))
}

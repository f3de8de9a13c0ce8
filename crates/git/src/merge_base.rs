//! Where two histories parted.

use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::{Bare, Error, Git, Result};

const PATIENCE: Duration = Duration::from_secs(60);

/// Of several commits git's own choice, which everybody's differences start from. None if they have nothing in common.
pub async fn find(git: &Git, bare: &Bare, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
    let command = git.command(bare, "merge-base").id(one).id(other);
    let Some(answer) = command.ask(b"", 1000, PATIENCE).await? else { return Ok(None) };
    let id = ObjectId::from_hex(answer.trim_end());
    let id = id.map_err(|_| Error::Failed { command: "merge-base", said: "it wrote what is no id".into() })?;
    Ok(Some(id))
}

//! Finds the common ancestor of two commits with `git merge-base`.

use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::{BareRepository, Error, Git, Result};

const MERGE_BASE_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the best common ancestor of two commits. If there are several, git chooses one. Returns None if there is
/// none.
pub async fn find(git: &Git, repository: &BareRepository, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
    let command = git.command(repository, "merge-base").arg_oid(one).arg_oid(other);
    let Some(output) = command.run_allowing_exit_1(b"", 1000, MERGE_BASE_TIMEOUT).await? else { return Ok(None) };
    let id = ObjectId::from_hex(output.trim_end());
    let id = id.map_err(|_| Error::CommandFailed {
        command: "merge-base",
        detail: "unexpected line instead of an object id".into(),
    })?;
    Ok(Some(id))
}

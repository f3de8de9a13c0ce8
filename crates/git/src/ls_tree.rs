//! Lists directories with `git ls-tree`, one entry at a time, for trees that are too large to be held in memory.

use gix::ObjectId;

use crate::lines::Lines;
use crate::reader::TreeEntry;
use crate::{BareRepository, Error, Git, Result};

/// The entries of a directory and, if `is_recursive`, of all directories below it.
pub struct TreeListing(Lines);

impl TreeListing {
    pub fn start(git: &Git, repository: &BareRepository, tree: ObjectId, is_recursive: bool) -> Result<Self> {
        let mut command = git.command(repository, "ls-tree").args(["-z", "--full-tree"]);
        if is_recursive {
            command = command.args(["-r", "-t"]);
        }
        Ok(Self(Lines::spawn(command.arg_oid(tree), 0)?))
    }

    pub async fn next(&mut self) -> Result<Option<TreeEntry>> {
        let Some(line) = self.0.next().await? else { return Ok(None) };
        // MODE KIND ID<tab>PATH
        let parse = || {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let fields = std::str::from_utf8(&line[..tab]).ok()?;
            let mut fields = fields.split(' ');
            let mode = u16::from_str_radix(fields.next()?, 8).ok()?;
            let id = ObjectId::from_hex(fields.nth(1)?.as_bytes()).ok()?;
            Some(TreeEntry { path: line[tab + 1..].to_vec(), mode, id })
        };
        parse().map(Some).ok_or_else(|| Error::CommandFailed {
            command: "ls-tree",
            detail: "unexpected line instead of a tree entry".into(),
        })
    }
}

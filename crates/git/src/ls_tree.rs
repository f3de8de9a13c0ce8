//! A directory as git lists it, one entry after the other: for what is too large to be held.

use gix::ObjectId;

use crate::lines::Lines;
use crate::reader::Entry;
use crate::{Bare, Error, Git, Result};

/// The entries of a directory and, if `recursive`, of all below it.
pub struct Listing(Lines);

impl Listing {
    pub fn start(git: &Git, bare: &Bare, tree: ObjectId, recursive: bool) -> Result<Self> {
        let mut command = git.command(bare, "ls-tree").words(["-z", "--full-tree"]);
        if recursive {
            command = command.words(["-r", "-t"]);
        }
        Ok(Self(Lines::of(command.id(tree), 0)?))
    }

    pub async fn next(&mut self) -> Result<Option<Entry>> {
        let Some(line) = self.0.next().await? else { return Ok(None) };
        // MODE KIND ID<tab>PATH
        let parsed = || {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let facts = std::str::from_utf8(&line[..tab]).ok()?;
            let mut facts = facts.split(' ');
            let mode = u16::from_str_radix(facts.next()?, 8).ok()?;
            let id = ObjectId::from_hex(facts.nth(1)?.as_bytes()).ok()?;
            Some(Entry { path: line[tab + 1..].to_vec(), mode, id })
        };
        parsed().map(Some).ok_or_else(|| Error::Failed { command: "ls-tree", said: "it wrote what is no entry".into() })
    }
}

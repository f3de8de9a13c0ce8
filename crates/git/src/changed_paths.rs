//! Which files commits changed, against their first parents.

use std::collections::HashMap;
use std::fmt::Write;

use gix::ObjectId;

use crate::lines::Lines;
use crate::{Bare, Git, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    pub added: Vec<String>,
    pub modified: Vec<String>,
    pub removed: Vec<String>,
}

/// At most so many paths of each commit. A file that was renamed is one that was removed and one that was added.
pub async fn of_commits(
    git: &Git,
    bare: &Bare,
    commits: &[ObjectId],
    most: usize,
) -> Result<HashMap<ObjectId, ChangedPaths>> {
    let command = git.command(bare.directory(), "diff-tree").words(["--stdin", "-r", "--root", "--no-renames"]);
    let command = command.words(["--name-status", "-z", "--diff-merges=first-parent"]);
    let input = commits.iter().fold(String::new(), |mut text, id| {
        writeln!(text, "{id}").ok();
        text
    });
    let mut found: HashMap<ObjectId, ChangedPaths> = HashMap::new();
    let (mut commit, mut seen) = (ChangedPaths::default(), 0);
    let mut id = None;
    let mut lines = Lines::told(command, b'\0', input)?;
    loop {
        // What happened to a path stands before it; a commit's id stands alone.
        let letter = match lines.next().await? {
            Some(line) if line.len() == 1 => line[0],
            next => {
                if let Some(id) = id.take() {
                    found.insert(id, std::mem::take(&mut commit));
                }
                let Some(line) = next else { return Ok(found) };
                (id, seen) = (ObjectId::from_hex(&line).ok(), 0);
                continue;
            }
        };
        let Some(path) = lines.next().await? else { return Ok(found) };
        seen += 1;
        if seen > most {
            continue;
        }
        let path = String::from_utf8_lossy(&path).into_owned();
        match letter {
            b'A' => commit.added.push(path),
            b'D' => commit.removed.push(path),
            _ => commit.modified.push(path),
        }
    }
}

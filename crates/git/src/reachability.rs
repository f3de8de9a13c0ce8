//! Whether tips reach an object. A pack may hold more than its repository's refs lead to: what a forced push left
//! behind, or what a fork's parent keeps to itself. Knowing an id gives no right to it.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::reader::Reader;
use crate::{Bare, Error, Git, Result, rev_list};

const PATIENCE: Duration = Duration::from_secs(120);

/// Whether all of `wanted` can be reached. Commits are looked for among commits alone, which is much less than
/// everything; the walk ends when the last of them is found.
pub async fn reach_all(git: &Git, bare: &Bare, tips: &[ObjectId], mut wanted: HashSet<ObjectId>) -> Result<bool> {
    if wanted.is_empty() {
        return Ok(true);
    }
    let (reader, ids) = (bare.clone(), wanted.iter().copied().collect::<Vec<_>>());
    let looking = tokio::task::spawn_blocking(move || Reader::open(&reader)?.are_commits(&ids));
    let Some(only_commits) = looking.await.map_err(|panicked| Error::protocol(panicked.to_string()))?? else {
        return Ok(false);
    };
    let mut command = git.command(bare.directory(), "rev-list").words(["--stdin", "--use-bitmap-index"]);
    if !only_commits {
        command = command.words(["--objects", "--no-object-names"]);
    }
    let input = rev_list::input(tips.iter().copied(), std::iter::empty());
    let look = |id| {
        wanted.remove(&id);
        if wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    rev_list::each(command, input, PATIENCE, look).await?;
    Ok(wanted.is_empty())
}

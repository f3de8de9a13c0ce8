//! Whether tips reach an object. A pack may hold more than its repository's refs lead to: what a forced push left
//! behind, or what a fork's parent keeps to itself. Knowing an id gives no right to it.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::reader::{Kind, Reader};
use crate::{Bare, Error, Git, Result, rev_list};

const PATIENCE: Duration = Duration::from_secs(120);

/// Whether all of `wanted` can be reached.
pub async fn reach_all(git: &Git, bare: &Bare, tips: &[ObjectId], wanted: HashSet<ObjectId>) -> Result<bool> {
    let (there, missing) = look_up(bare, wanted).await?;
    Ok(missing.is_empty() && walk(git, bare, tips, there).await?.is_empty())
}

/// Those that cannot.
pub async fn unreached(
    git: &Git,
    bare: &Bare,
    tips: &[ObjectId],
    wanted: HashSet<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    let (there, missing) = look_up(bare, wanted).await?;
    Ok(walk(git, bare, tips, there).await?.into_keys().chain(missing).collect())
}

/// However long it takes to walk through all of a repository.
const LONG: Duration = Duration::from_secs(3600);

/// Shows everything that tips lead to, until enough was seen.
pub async fn each(
    git: &Git,
    bare: &Bare,
    tips: impl Iterator<Item = ObjectId>,
    look: impl FnMut(ObjectId) -> ControlFlow<()>,
) -> Result<()> {
    let command = git.command(bare.directory(), "rev-list").words(["--objects", "--no-object-names", "--stdin"]);
    rev_list::each(command, rev_list::input(tips, std::iter::empty()), LONG, look).await
}

type Kinds = HashMap<ObjectId, Kind>;

async fn look_up(bare: &Bare, ids: HashSet<ObjectId>) -> Result<(Kinds, Vec<ObjectId>)> {
    let bare = bare.clone();
    let looking = tokio::task::spawn_blocking(move || {
        let reader = Reader::open(&bare)?;
        let (mut there, mut missing) = (Kinds::new(), Vec::new());
        for id in ids {
            match reader.kind(id)? {
                Some(kind) => _ = there.insert(id, kind),
                None => missing.push(id),
            }
        }
        Ok((there, missing))
    });
    looking.await.map_err(|panicked| Error::protocol(panicked.to_string()))?
}

/// What is left of them at the end. Commits are looked for among commits alone, which is much less than everything; the
/// walk ends when the last of them is found.
async fn walk(git: &Git, bare: &Bare, tips: &[ObjectId], mut wanted: Kinds) -> Result<Kinds> {
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let mut command = git.command(bare.directory(), "rev-list").words(["--stdin", "--use-bitmap-index"]);
    if wanted.values().any(|kind| *kind != Kind::Commit) {
        command = command.words(["--objects", "--no-object-names"]);
    }
    let input = rev_list::input(tips.iter().copied(), std::iter::empty());
    let look = |id| {
        wanted.remove(&id);
        if wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    rev_list::each(command, input, PATIENCE, look).await?;
    Ok(wanted)
}

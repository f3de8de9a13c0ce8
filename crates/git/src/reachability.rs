//! Whether tips reach an object. A pack may hold more than its repository's refs lead to: what a forced push left
//! behind, or what a fork's parent keeps to itself. Knowing an id gives no right to it.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::{Bare, Git, Result, rev_list};

const PATIENCE: Duration = Duration::from_secs(120);

/// What a search for an object has to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Commits alone, which are far fewer than all objects.
    Commits,
    Objects,
}

/// Whether all of `wanted` are reachable from tips.
pub async fn reach_all(git: &Git, bare: &Bare, tips: &[ObjectId], wanted: HashSet<ObjectId>) -> Result<bool> {
    if wanted.is_empty() {
        return Ok(true);
    }
    // Git lists commits before other objects, so that a search for commits ends as early as one among commits alone.
    Ok(unreached(git, bare, tips, wanted, Scope::Objects).await?.is_empty())
}

/// Returns those of `wanted` that are not reachable from tips within the scope.
///
/// An id that does not exist costs the same walk as one that is hidden, to the end of the history: otherwise the time of
/// a refusal would tell whether somebody once pushed an object with that id. The walk ends when the last id is found.
pub async fn unreached(
    git: &Git,
    bare: &Bare,
    tips: &[ObjectId],
    mut wanted: HashSet<ObjectId>,
    scope: Scope,
) -> Result<HashSet<ObjectId>> {
    let mut command = git.command(bare, "rev-list").words(["--stdin", "--use-bitmap-index"]);
    if scope == Scope::Objects {
        command = command.words(["--objects", "--no-object-names"]);
    }
    let input = rev_list::input(tips.iter().copied(), std::iter::empty());
    // Nothing is wanted where an abbreviation matches nothing: that, too, is a walk to the end.
    let ends_early = !wanted.is_empty();
    let look = |id| {
        wanted.remove(&id);
        if ends_early && wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    rev_list::each(command, input, PATIENCE, look).await?;
    Ok(wanted)
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
    let command = git.command(bare, "rev-list").words(["--objects", "--no-object-names", "--stdin"]);
    rev_list::each(command, rev_list::input(tips, std::iter::empty()), LONG, look).await
}

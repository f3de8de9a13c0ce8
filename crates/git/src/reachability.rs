//! Finds out which objects are reachable from tips. The check of a push, which uses this, is [`crate::connectivity`].
//!
//! A pack may contain objects that are unreachable from the refs of a repository: objects that were replaced by a
//! forced push, or that only the parent of a fork may show. An object is served only if it is reachable; knowing its id
//! is not enough.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::{BareRepository, Git, Result, rev_list};

const SEARCH_TIMEOUT: Duration = Duration::from_secs(120);

/// The objects that a search visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// Only commits, which are far fewer than all objects.
    Commits,
    Objects,
}

/// Returns whether all of `wanted` are reachable from `tips`.
pub async fn are_all_reachable(
    git: &Git,
    repository: &BareRepository,
    tips: &[ObjectId],
    wanted: HashSet<ObjectId>,
) -> Result<bool> {
    if wanted.is_empty() {
        return Ok(true);
    }
    // Git lists commits before other objects, so a search for commits ends as early as with `SearchScope::Commits`.
    Ok(find_unreachable(git, repository, tips, wanted, SearchScope::Objects).await?.is_empty())
}

/// Returns those of `wanted` that are not reachable from `tips` within the scope.
///
/// An id that does not exist costs the same walk to the end of the history as an unreachable one: otherwise the time of
/// a rejection would reveal whether an object with that id was ever pushed. The walk ends when the last id is found.
pub async fn find_unreachable(
    git: &Git,
    repository: &BareRepository,
    tips: &[ObjectId],
    mut wanted: HashSet<ObjectId>,
    scope: SearchScope,
) -> Result<HashSet<ObjectId>> {
    let mut command = git.command(repository, "rev-list").args(["--stdin", "--use-bitmap-index"]);
    if scope == SearchScope::Objects {
        command = command.args(["--objects", "--no-object-names"]);
    }
    let input = rev_list::stdin_revisions(tips.iter().copied(), std::iter::empty());
    // `wanted` is empty if an abbreviated id matches no object. This must also cost a walk to the end.
    let ends_early = !wanted.is_empty();
    let visit = |id| {
        wanted.remove(&id);
        if ends_early && wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    rev_list::for_each_oid(command, input, SEARCH_TIMEOUT, visit).await?;
    Ok(wanted)
}

/// Maximum time of a walk through all objects of a repository.
const WALK_TIMEOUT: Duration = Duration::from_secs(3600);

/// Calls `visit` for every object that is reachable from `tips`, until it breaks.
pub async fn for_each_reachable(
    git: &Git,
    repository: &BareRepository,
    tips: impl Iterator<Item = ObjectId>,
    visit: impl FnMut(ObjectId) -> ControlFlow<()>,
) -> Result<()> {
    let command = git.command(repository, "rev-list").args(["--objects", "--no-object-names", "--stdin"]);
    rev_list::for_each_oid(command, rev_list::stdin_revisions(tips, std::iter::empty()), WALK_TIMEOUT, visit).await
}

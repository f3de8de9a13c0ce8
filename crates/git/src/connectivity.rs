//! The connectivity check of a push: every object that the new tips need must exist and be usable.
//!
//! An object is usable if the push contains it or if it is reachable from the refs of this repository. It is not enough
//! that one of the packs contains it, because it may be unreachable and therefore secret.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::index_pack::ReceivedObjects;
use crate::{BareRepository, Error, Git, Result, reachability, rev_list};

/// Maximum time of the walk that excludes only the likely tips. After it, a walk excludes all tips.
const LIKELY_TIPS_TIMEOUT: Duration = Duration::from_secs(5);
const ALL_TIPS_TIMEOUT: Duration = Duration::from_secs(600);
/// A push that refers to more existing objects than this is rejected: checking their reachability would take too long.
const MAX_UNSENT: usize = 1_000_000;

/// The tips of a repository before a push: those that the new tips are most likely based on, and a function that
/// returns all of them. There may be a million, and they are rarely needed.
pub struct KnownTips<'a> {
    pub likely: &'a [ObjectId],
    pub all: &'a (dyn Fn() -> Vec<ObjectId> + Sync),
}

/// Returns whether all objects that the tips in `new` need are usable.
pub async fn is_connected(
    git: &Git,
    repository: &BareRepository,
    new: &[ObjectId],
    known: KnownTips<'_>,
    received: &ReceivedObjects,
) -> Result<bool> {
    let new: Vec<ObjectId> = new.iter().copied().filter(|id| !known.likely.contains(id)).collect();
    if new.is_empty() {
        return Ok(true);
    }
    // Everything reachable from a tip exists, so the walk may exclude any set of tips. A well-chosen set makes it
    // short.
    let likely_result = find_unsent(git, repository, &new, known.likely, received, LIKELY_TIPS_TIMEOUT).await;
    if matches!(&likely_result, Ok(Some(unsent)) if unsent.is_empty()) {
        return Ok(true);
    }
    let all = (known.all)();
    let unsent = match likely_result {
        Ok(Some(_)) | Err(Error::TimedOut { .. }) => {
            find_unsent(git, repository, &new, &all, received, ALL_TIPS_TIMEOUT).await?
        }
        result => result?,
    };
    match unsent {
        None => Ok(false),
        // The walk can list objects that are reachable from old tips, for example if a push restores an old version of
        // a file. Their reachability is checked here.
        Some(unsent) => match reachability::are_all_reachable(git, repository, &all, unsent).await {
            Err(Error::TimedOut { .. }) => Err(Error::protocol(
                "the connectivity check exceeded its time limit. Push from a clone that has all branches",
            )),
            Err(Error::CommandFailed { .. }) => Ok(false),
            result => result,
        },
    }
}

/// Returns whether all objects that are reachable from `tip` exist. The walk stops at the tips in `known`, which are
/// complete.
pub async fn is_fully_connected(
    git: &Git,
    repository: &BareRepository,
    tip: ObjectId,
    known: &[ObjectId],
) -> Result<bool> {
    let command = git.command(repository, "rev-list").args(["--objects", "--no-object-names", "--stdin"]);
    let input = rev_list::stdin_revisions([tip].into_iter(), known.iter().copied());
    match rev_list::for_each_oid(command, input, ALL_TIPS_TIMEOUT, |_| ControlFlow::Continue(())).await {
        Ok(()) => Ok(true),
        Err(Error::CommandFailed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the objects between `old` and `new` that the push does not contain, or None if an object does not exist.
async fn find_unsent(
    git: &Git,
    repository: &BareRepository,
    new: &[ObjectId],
    old: &[ObjectId],
    received: &ReceivedObjects,
    deadline: Duration,
) -> Result<Option<HashSet<ObjectId>>> {
    let command = git.command(repository, "rev-list").args(["--objects", "--no-object-names", "--stdin"]);
    let input = rev_list::stdin_revisions(new.iter().copied(), old.iter().copied());
    let mut unsent = HashSet::new();
    let visit = |id: ObjectId| {
        if !received.contains(id) {
            unsent.insert(id);
        }
        if unsent.len() > MAX_UNSENT { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match rev_list::for_each_oid(command, input, deadline, visit).await {
        Ok(()) if unsent.len() > MAX_UNSENT => {
            Err(Error::protocol("the push refers to too many objects that it does not contain"))
        }
        Ok(()) => Ok(Some(unsent)),
        Err(Error::CommandFailed { detail, .. }) => {
            tracing::info!(detail, "connectivity check failed: push is missing objects");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

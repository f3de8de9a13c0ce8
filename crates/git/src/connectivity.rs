//! Whether everything is there that new tips need, and may be used for them: what came with the push, or what the refs of
//! this very repository lead to. That an object lies in one of its packs is not enough: nobody may be meant to see it.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::index_pack::Sent;
use crate::{Bare, Error, Git, Result, reachability, rev_list};

/// How long the walk may take that knows of few old tips; then it is told all of them.
const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(600);
/// Of a push that leans on more than this, nobody can say in time whether it may.
const MOST_UNSENT: usize = 1_000_000;

/// What is there before a push: the tips that the new ones most likely grew from, and all of them, which may be a million
/// and are seldom asked for.
pub struct Known<'a> {
    pub near: &'a [ObjectId],
    pub all: &'a (dyn Fn() -> Vec<ObjectId> + Sync),
}

pub async fn check(git: &Git, bare: &Bare, new: &[ObjectId], known: Known<'_>, sent: &Sent) -> Result<bool> {
    let new: Vec<ObjectId> = new.iter().copied().filter(|id| !known.near.contains(id)).collect();
    if new.is_empty() {
        return Ok(true);
    }
    // What tips reach is there, so a walk may end at any of them; it only takes less when they are well chosen.
    let nearby = walk(git, bare, &new, known.near, sent, SHORT).await;
    if matches!(&nearby, Ok(Some(unsent)) if unsent.is_empty()) {
        return Ok(true);
    }
    let all = (known.all)();
    let unsent = match nearby {
        Ok(Some(_)) | Err(Error::TimedOut { .. }) => walk(git, bare, &new, &all, sent, LONG).await?,
        answer => answer?,
    };
    match unsent {
        None => Ok(false),
        // A walk need not notice that something old comes back: then the old way to it must be found.
        Some(unsent) => match reachability::reach_all(git, bare, &all, unsent).await {
            Err(Error::TimedOut { .. }) => Err(Error::protocol(
                "it takes too long to find what the push depends on: push from a clone that has all branches",
            )),
            Err(Error::Failed { .. }) => Ok(false),
            answer => answer,
        },
    }
}

/// Whether everything is there that a tip of old leads to, but for what the known ones lead to, which is.
pub async fn is_whole(git: &Git, bare: &Bare, tip: ObjectId, known: &[ObjectId]) -> Result<bool> {
    let command = git.command(bare, "rev-list").words(["--objects", "--no-object-names", "--stdin"]);
    let input = rev_list::input([tip].into_iter(), known.iter().copied());
    match rev_list::each(command, input, LONG, |_| ControlFlow::Continue(())).await {
        Ok(()) => Ok(true),
        Err(Error::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The objects on the way that did not come with the push; none if one is not there at all.
async fn walk(
    git: &Git,
    bare: &Bare,
    new: &[ObjectId],
    old: &[ObjectId],
    sent: &Sent,
    deadline: Duration,
) -> Result<Option<HashSet<ObjectId>>> {
    let command = git.command(bare, "rev-list").words(["--objects", "--no-object-names", "--stdin"]);
    let input = rev_list::input(new.iter().copied(), old.iter().copied());
    let mut unsent = HashSet::new();
    let look = |id: ObjectId| {
        if !sent.contains(id) {
            unsent.insert(id);
        }
        if unsent.len() > MOST_UNSENT { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match rev_list::each(command, input, deadline, look).await {
        Ok(()) if unsent.len() > MOST_UNSENT => {
            Err(Error::protocol("the push depends on too much that it does not bring"))
        }
        Ok(()) => Ok(Some(unsent)),
        Err(Error::Failed { said, .. }) => {
            tracing::info!(said, "a push lacks objects");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

use std::collections::{HashSet, VecDeque};

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::{Commit, Reader, damaged};
use crate::Result;

/// What a push brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewCommits {
    /// The newest, oldest first.
    pub newest: Vec<Commit>,
    pub total: u64,
}

impl Reader {
    /// Whether `old` is `new` or one of the commits before it.
    pub fn is_ancestor(&self, old: ObjectId, new: ObjectId) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        Ok(self.merge_base(old, new)? == Some(old))
    }

    /// Where two histories parted; None if they have nothing in common.
    pub fn merge_base(&self, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
        let base = self.0.merge_base(one, other);
        // Nothing in common is told as an error as well.
        Ok(base.ok().flatten().map(gix::Id::detach))
    }

    /// The commits that `new` reaches and `hidden` do not; of the newest `keep` all is told.
    pub fn new_commits(&self, new: ObjectId, hidden: &[ObjectId], keep: usize) -> Result<NewCommits> {
        let mut found = NewCommits::default();
        let mut newest = VecDeque::new();
        for id in self.between(hidden, new)? {
            let id = id?;
            found.total += 1;
            if newest.len() < keep {
                newest.push_front(self.commit(id)?);
            }
        }
        found.newest = newest.into();
        Ok(found)
    }

    /// The commits that `new` reaches and `hidden` do not, newest first.
    pub fn between(&self, hidden: &[ObjectId], new: ObjectId) -> Result<impl Iterator<Item = Result<ObjectId>>> {
        let by_time = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.0.rev_walk([new]).sorting(by_time).with_hidden(hidden.iter().copied());
        let walk = walk.all().map_err(damaged(new))?;
        Ok(walk.map(move |info| Ok(info.map_err(damaged(new))?.id)))
    }

    /// Those of `tips` that `from` leads to. One walk for all of them, however many they are.
    pub fn merged(&self, from: ObjectId, tips: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
        let mut found = HashSet::new();
        for id in self.between(&[], from)? {
            let id = id?;
            if tips.contains(&id) {
                found.insert(id);
                if found.len() == tips.len() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

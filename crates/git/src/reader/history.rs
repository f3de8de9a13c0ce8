use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::{Commit, Kind, Reader, unreadable};
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
        for id in self.walk(new)? {
            if id? == old {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A commit and all before it, newest first.
    fn walk(&self, from: ObjectId) -> Result<impl Iterator<Item = Result<ObjectId>>> {
        let by_time = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.0.rev_walk([from]).sorting(by_time).all().map_err(unreadable(from))?;
        Ok(walk.map(move |info| Ok(info.map_err(unreadable(from))?.id)))
    }

    /// Returns those of `ids` that are among the newest `max_commits` reachable from `tips`; a tip that does not lead to
    /// a commit is passed over.
    pub fn recent_among(
        &self,
        tips: impl Iterator<Item = ObjectId>,
        ids: &HashSet<ObjectId>,
        max_commits: usize,
    ) -> Result<HashSet<ObjectId>> {
        let mut commits = Vec::new();
        for tip in tips {
            let (target, kind) = self.peel(tip)?;
            if kind == Kind::Commit {
                commits.push(target.object());
            }
        }
        let Some(first) = commits.first().copied().filter(|_| !ids.is_empty()) else { return Ok(HashSet::new()) };
        let by_time = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.0.rev_walk(commits).sorting(by_time).all().map_err(unreadable(first))?;
        let mut found = HashSet::new();
        for info in walk.take(max_commits) {
            let id = info.map_err(unreadable(first))?.id;
            if ids.contains(&id) {
                found.insert(id);
                if found.len() == ids.len() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Whether so many commits lead to this one.
    pub fn is_longer_than(&self, length: usize, tip: ObjectId) -> Result<bool> {
        Ok(self.walk(tip)?.nth(length).transpose()?.is_some())
    }

    /// Those of `tips` that `from` leads to. One walk for all of them, however many they are.
    pub fn merged(&self, from: ObjectId, tips: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
        self.recent_among([from].into_iter(), tips, usize::MAX)
    }

    /// The commits that `new` reaches and `hidden` do not; of the newest `keep` all is told.
    pub fn new_commits(&self, new: ObjectId, hidden: &[ObjectId], keep: usize) -> Result<NewCommits> {
        let ids = self.between(hidden, new)?;
        let newest: Result<VecDeque<Commit>> = ids.iter().take(keep).rev().map(|id| self.commit(*id)).collect();
        Ok(NewCommits { newest: newest?.into(), total: ids.len() as u64 })
    }

    /// The commits that `new` reaches and `hidden` do not, newest first.
    ///
    /// Commits are passed by their time, newest first, and clocks go wrong: a commit may be older than those before it.
    /// So the search goes on for a while after nothing is left that could be new. Git does the same, but for five commits
    /// only, and tells some that are not new.
    pub fn between(&self, hidden: &[ObjectId], new: ObjectId) -> Result<Vec<ObjectId>> {
        self.search(hidden, new, SURPLUS)
    }

    /// The same, whatever the clocks said: all that is hidden is passed.
    pub fn between_exactly(&self, hidden: &[ObjectId], new: ObjectId) -> Result<Vec<ObjectId>> {
        self.search(hidden, new, usize::MAX)
    }

    fn search(&self, hidden: &[ObjectId], new: ObjectId, most_surplus: usize) -> Result<Vec<ObjectId>> {
        let mut walk =
            Walk { reader: self, queue: BinaryHeap::new(), is_hidden: HashMap::new(), new_ahead: 0, came: 0 };
        for id in hidden {
            walk.meet(*id, true)?;
        }
        walk.meet(new, false)?;
        let (mut found, mut surplus) = (Vec::new(), 0);
        while let Some(next) = walk.queue.pop() {
            let is_hidden = walk.is_hidden[&next.id];
            if next.was_new {
                walk.new_ahead -= 1;
            }
            if !is_hidden {
                found.push(next.id);
            }
            for parent in next.parents {
                walk.meet(parent, is_hidden)?;
            }
            if walk.new_ahead == 0 {
                surplus += 1;
                if surplus > most_surplus || found.is_empty() {
                    break;
                }
            }
        }
        found.retain(|id| !walk.is_hidden[id]);
        Ok(found)
    }
}

/// Twenty times what git allows, and still only a millisecond or two.
const SURPLUS: usize = 100;

struct Walk<'a> {
    reader: &'a Reader,
    queue: BinaryHeap<Ahead>,
    /// Of all that were met.
    is_hidden: HashMap<ObjectId, bool>,
    /// How many in the queue were new when they came into it.
    new_ahead: usize,
    /// How many have come into it so far.
    came: usize,
}

/// A commit that is to be passed: the newest first, of equal ones that which came first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ahead {
    seconds: i64,
    came: Reverse<usize>,
    id: ObjectId,
    was_new: bool,
    parents: Vec<ObjectId>,
}

impl Walk<'_> {
    /// A commit that was thought to be new and is not is passed once more, for those before it.
    fn meet(&mut self, id: ObjectId, is_hidden: bool) -> Result<()> {
        match self.is_hidden.get(&id) {
            None => {}
            Some(false) if is_hidden => {}
            Some(_) => return Ok(()),
        }
        self.is_hidden.insert(id, is_hidden);
        let (seconds, parents) = self.reader.time_and_parents(id)?;
        self.came += 1;
        self.queue.push(Ahead { seconds, came: Reverse(self.came), id, was_new: !is_hidden, parents });
        self.new_ahead += usize::from(!is_hidden);
        Ok(())
    }
}

impl Reader {
    pub fn parents(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        Ok(self.time_and_parents(id)?.1)
    }

    fn time_and_parents(&self, id: ObjectId) -> Result<(i64, Vec<ObjectId>)> {
        let commit = self.0.find_commit(id).map_err(unreadable(id))?;
        let seconds = commit.time().map_or(0, |time| time.seconds);
        Ok((seconds, commit.parent_ids().map(gix::Id::detach).collect()))
    }
}

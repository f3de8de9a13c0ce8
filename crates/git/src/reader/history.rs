//! Walks the commit history.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::{Commit, Kind, Reader, unreadable};
use crate::Result;

/// The commits that a push added to a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewCommits {
    /// The newest of them, in the order from old to new.
    pub newest: Vec<Commit>,
    pub total: u64,
}

impl Reader {
    /// Returns whether `old` is `new` or one of its ancestors.
    pub fn is_ancestor(&self, old: ObjectId, new: ObjectId) -> Result<bool> {
        for id in self.walk(new)? {
            if id? == old {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Walks a commit and its ancestors, newest first.
    pub(super) fn walk(&self, from: ObjectId) -> Result<impl Iterator<Item = Result<ObjectId>>> {
        let by_time = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.0.rev_walk([from]).sorting(by_time).all().map_err(unreadable(from))?;
        Ok(walk.map(move |info| Ok(info.map_err(unreadable(from))?.id)))
    }

    /// Returns those of `ids` that are among the newest `max_commits` commits reachable from `tips`. Tips that do not
    /// peel to a commit are skipped.
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
                commits.push(target.peeled_or_self());
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

    /// Returns whether a commit and its ancestors are more than `length` commits.
    pub fn is_longer_than(&self, length: usize, tip: ObjectId) -> Result<bool> {
        Ok(self.walk(tip)?.nth(length).transpose()?.is_some())
    }

    /// Returns those of `tips` that are reachable from `from`, in one walk for all of them.
    pub fn find_merged_tips(&self, from: ObjectId, tips: &HashSet<ObjectId>) -> Result<HashSet<ObjectId>> {
        self.recent_among([from].into_iter(), tips, usize::MAX)
    }

    /// Returns the number of commits that are reachable from `new` and not from `excluded`, and the newest
    /// `max_commits`.
    pub fn new_commits(&self, new: ObjectId, excluded: &[ObjectId], max_commits: usize) -> Result<NewCommits> {
        let ids = self.commits_excluding(excluded, new)?;
        let newest: Result<VecDeque<Commit>> = ids.iter().take(max_commits).rev().map(|id| self.commit(*id)).collect();
        Ok(NewCommits { newest: newest?.into(), total: ids.len() as u64 })
    }

    /// Returns the commits that are reachable from `new` and not from `excluded`, newest first.
    ///
    /// The walk is ordered by commit date, and dates can be wrong: a commit may be older than its parents. So the walk
    /// continues for a while after no candidate is left in the queue. Git does the same for five commits only, and
    /// sometimes lists commits that are not new.
    pub fn commits_excluding(&self, excluded: &[ObjectId], new: ObjectId) -> Result<Vec<ObjectId>> {
        self.walk_excluding(excluded, new, SLOP)
    }

    /// Like [`Self::commits_excluding`], but exact even if commit dates are wrong. Walks the whole excluded history.
    pub fn commits_excluding_exact(&self, excluded: &[ObjectId], new: ObjectId) -> Result<Vec<ObjectId>> {
        self.walk_excluding(excluded, new, usize::MAX)
    }

    fn walk_excluding(&self, excluded: &[ObjectId], new: ObjectId, max_slop: usize) -> Result<Vec<ObjectId>> {
        let mut walk =
            Walk { reader: self, queue: BinaryHeap::new(), is_excluded: HashMap::new(), queued_new: 0, enqueued: 0 };
        for id in excluded {
            walk.visit(*id, true)?;
        }
        walk.visit(new, false)?;
        let (mut found, mut slop) = (Vec::new(), 0);
        while let Some(next) = walk.queue.pop() {
            let is_hidden = walk.is_excluded[&next.id];
            if next.was_new {
                walk.queued_new -= 1;
            }
            if !is_hidden {
                found.push(next.id);
            }
            for parent in next.parents {
                walk.visit(parent, is_hidden)?;
            }
            if walk.queued_new == 0 {
                slop += 1;
                if slop > max_slop || found.is_empty() {
                    break;
                }
            }
        }
        found.retain(|id| !walk.is_excluded[id]);
        Ok(found)
    }
}

/// The number of commits that a walk continues after its queue has no candidate left: twenty times as many as git, in
/// one or two milliseconds.
const SLOP: usize = 100;

struct Walk<'a> {
    reader: &'a Reader,
    queue: BinaryHeap<QueuedCommit>,
    /// Whether a commit is reachable from an excluded one, for all commits seen so far.
    is_excluded: HashMap<ObjectId, bool>,
    /// Number of queued commits that were not known to be excluded when they were queued.
    queued_new: usize,
    /// Number of commits queued so far.
    enqueued: usize,
}

/// A commit in the queue. The newest is first; of equal dates, the commit that was queued first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct QueuedCommit {
    seconds: i64,
    sequence: Reverse<usize>,
    id: ObjectId,
    was_new: bool,
    parents: Vec<ObjectId>,
}

impl Walk<'_> {
    /// Queues a commit. A commit that was taken for new and is excluded is queued again, to mark its ancestors.
    fn visit(&mut self, id: ObjectId, is_excluded: bool) -> Result<()> {
        match self.is_excluded.get(&id) {
            None => {}
            Some(false) if is_excluded => {}
            Some(_) => return Ok(()),
        }
        self.is_excluded.insert(id, is_excluded);
        let (seconds, parents) = self.reader.time_and_parents(id)?;
        self.enqueued += 1;
        self.queue.push(QueuedCommit { seconds, sequence: Reverse(self.enqueued), id, was_new: !is_excluded, parents });
        self.queued_new += usize::from(!is_excluded);
        Ok(())
    }
}

impl Reader {
    pub fn parents(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        Ok(self.time_and_parents(id)?.1)
    }

    pub(super) fn time_and_parents(&self, id: ObjectId) -> Result<(i64, Vec<ObjectId>)> {
        let commit = self.0.find_commit(id).map_err(unreadable(id))?;
        let seconds = commit.time().map_or(0, |time| time.seconds);
        Ok((seconds, commit.parent_ids().map(gix::Id::detach).collect()))
    }
}

//! Answers questions about ancestors within a limited part of the history.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::{Reader, unreadable};
use crate::Result;

/// How a ref update changed the history of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryChange {
    /// The new commit has the old one as an ancestor.
    FastForward,
    /// The new commit does not have the old one as an ancestor.
    Forced,
    /// The search ended before it was known.
    Unknown,
}

/// Commits whose dates differ by up to this many seconds are searched as if the clocks of their authors were wrong.
const CLOCK_SKEW_SECONDS: i64 = 86_400;
/// Maximum number of parents of the commits that are searched for tips. A commit can have very many parents.
const MAX_EDGES: usize = 50_000;

impl Reader {
    /// Returns those of `tips` that are a commit or have it as an ancestor. The tips must be commits. Returns None if more
    /// than `max_commits` commits are newer than the commit, or if these have too many parents.
    pub fn tips_containing(
        &self,
        commit: ObjectId,
        tips: &[ObjectId],
        max_commits: usize,
    ) -> Result<Option<HashSet<ObjectId>>> {
        let oldest = self.time_and_parents(commit)?.0.saturating_sub(CLOCK_SKEW_SECONDS);
        let sorting = Sorting::ByCommitTimeCutoff { order: CommitTimeOrder::NewestFirst, seconds: oldest };
        let walk = self.0.rev_walk(tips.iter().copied()).sorting(sorting).all().map_err(unreadable(commit))?;
        let mut children: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        let mut edges = 0;
        for (visited, info) in walk.enumerate() {
            if visited >= max_commits {
                return Ok(None);
            }
            let info = info.map_err(unreadable(commit))?;
            edges += info.parent_ids.len();
            if edges > MAX_EDGES {
                return Ok(None);
            }
            for parent in info.parent_ids {
                children.entry(parent).or_default().push(info.id);
            }
        }
        let mut found = HashSet::from([commit]);
        let mut pending = vec![commit];
        while let Some(id) = pending.pop() {
            pending.extend(children.remove(&id).unwrap_or_default().into_iter().filter(|child| found.insert(*child)));
        }
        Ok(Some(tips.iter().copied().filter(|tip| found.contains(tip)).collect()))
    }

    /// Returns how an update from one commit to another changed the history. Searches at most `max_commits` commits.
    pub fn history_change(&self, old: ObjectId, new: ObjectId, max_commits: usize) -> Result<HistoryChange> {
        let oldest = self.time_and_parents(old)?.0.saturating_sub(CLOCK_SKEW_SECONDS);
        for (visited, id) in self.walk(new)?.enumerate() {
            let id = id?;
            if id == old {
                return Ok(HistoryChange::FastForward);
            }
            if visited >= max_commits {
                let is_older = self.time_and_parents(id)?.0 < oldest;
                return Ok(if is_older { HistoryChange::Forced } else { HistoryChange::Unknown });
            }
        }
        Ok(HistoryChange::Forced)
    }

    /// Returns a commit and its ancestors, newest first, at most `max_commits`.
    pub fn newest_commits(&self, tip: ObjectId, max_commits: usize) -> Result<Vec<ObjectId>> {
        self.walk(tip)?.take(max_commits).collect()
    }
}

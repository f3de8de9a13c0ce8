//! Records the merge requests of a test as their clients saw them, for comparison with the server after the test.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Part of the name of every source branch.
pub const SOURCE_BRANCH_INFIX: &str = "/mr-";

/// The state of a merge request, as far as its client knows. No other client changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownState {
    Open,
    Closed,
    Merged,
    /// A request that might have changed the state had no response.
    Uncertain,
}

/// A commit that was pushed to the source branch.
#[derive(Clone, Debug)]
pub struct ProposedHead {
    pub id: String,
    pub is_acknowledged: bool,
    /// Whether the merge request must have a version with this head: it was pushed while the request was open, or a
    /// response has contained it.
    pub must_be_version: bool,
}

/// The head and the merge commit of an acknowledged merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcknowledgedMerge {
    pub head: String,
    pub merge_commit: String,
}

#[derive(Clone, Debug)]
pub struct Proposal {
    /// None if the creation had no response.
    pub id: Option<i64>,
    pub target: i64,
    pub source: i64,
    /// The name of the source branch, which only this merge request has.
    pub source_branch: String,
    pub target_branch: String,
    pub heads: Vec<ProposedHead>,
    /// Whether the source branch may have another value than the last acknowledged head.
    pub is_branch_uncertain: bool,
    pub state: KnownState,
    pub merge: Option<AcknowledgedMerge>,
    pub unknown_accepts: u64,
}

impl Proposal {
    pub fn is_from_fork(&self) -> bool {
        self.source != self.target
    }

    pub fn last_acknowledged(&self) -> &str {
        let last = self.heads.iter().rev().find(|head| head.is_acknowledged);
        last.map_or("", |head| head.id.as_str())
    }

    /// Returns whether the client knows state and head.
    pub fn is_certainly_open(&self) -> bool {
        self.state == KnownState::Open && !self.is_branch_uncertain
    }

    pub fn has_head(&self, id: &str) -> bool {
        self.heads.iter().any(|head| head.id == id)
    }

    /// Records that a response has contained this head.
    pub fn mark_seen(&mut self, id: &str) {
        self.heads.iter_mut().filter(|head| head.id == id).for_each(|head| head.must_be_version = true);
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct MergeCounts {
    pub opened: u64,
    pub opened_from_forks: u64,
    pub updates: u64,
    pub merged: u64,
    pub merged_from_forks: u64,
    pub merged_with_sha: u64,
    pub unknown_accepts: u64,
    pub rejected_accepts: u64,
    pub state_changes: u64,
}

/// The merge requests of a test.
#[derive(Default)]
pub struct MergeHistory {
    proposals: Mutex<Vec<Proposal>>,
    counts: Mutex<MergeCounts>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MergeHistory {
    /// Adds a merge request and returns its index.
    pub fn add(&self, proposal: Proposal) -> usize {
        let mut proposals = lock(&self.proposals);
        proposals.push(proposal);
        proposals.len() - 1
    }

    pub fn get(&self, index: usize) -> Proposal {
        lock(&self.proposals)[index].clone()
    }

    pub fn update(&self, index: usize, change: impl FnOnce(&mut Proposal)) {
        change(&mut lock(&self.proposals)[index]);
    }

    /// Returns a copy of all merge requests so far.
    pub fn proposals(&self) -> Vec<Proposal> {
        lock(&self.proposals).clone()
    }

    pub fn count(&self, change: impl FnOnce(&mut MergeCounts)) {
        change(&mut lock(&self.counts));
    }

    pub fn counts(&self) -> MergeCounts {
        *lock(&self.counts)
    }
}

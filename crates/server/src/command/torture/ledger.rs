//! What clients were told, to be held against what is there in the end.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdfast_store::repository::audit::Logged;

use super::contradiction::contradictions;
use super::report::say;

/// What became of one ref of a push, as far as its client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Acknowledged; and from where, if that was told.
    Moved {
        old: Option<Option<String>>,
    },
    /// It was there already.
    Same,
    Refused(String),
    /// The answer did not come: it may or may not have been moved.
    Unknown,
    /// The answer was that something went wrong, which leaves as much open.
    Failed(String),
}

impl Fate {
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Unknown | Self::Failed(_))
    }
}

#[derive(Clone, Debug)]
pub struct Tried {
    pub name: String,
    /// None to delete it.
    pub new: Option<String>,
    pub fate: Fate,
}

#[derive(Clone, Debug)]
pub struct Push {
    pub project: i64,
    pub node: String,
    pub atomic: bool,
    pub refs: Vec<Tried>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub acknowledged: u64,
    pub moved: u64,
    pub unknown: u64,
    /// Moves that were made though nobody heard of it.
    pub silent: u64,
    pub refused: u64,
    pub forks: u64,
    pub kills: u64,
    pub reads: u64,
    pub broken_reads: u64,
    pub outrun_reads: u64,
    /// By something else than a kill, in a full trial.
    pub excused: u64,
    pub deletions: u64,
    pub renames: u64,
    /// What operators had done beside the nodes.
    pub orders: u64,
    pub failed_orders: u64,
    /// Commits that no ref led to, which were asked for by their ids.
    pub hidden: u64,
}

#[derive(Default)]
pub struct Ledger {
    pushes: Mutex<Vec<Push>>,
    counts: Mutex<Counts>,
    violations: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    pub fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut lock(&self.counts));
    }

    pub fn counts(&self) -> Counts {
        *lock(&self.counts)
    }

    pub fn violate(&self, text: impl Into<String>) {
        let text = text.into();
        say(&format!("VIOLATION: {text}"));
        lock(&self.violations).push(text);
    }

    pub fn violations(&self) -> usize {
        lock(&self.violations).len()
    }

    pub fn record(&self, push: Push) {
        let has = |wanted: fn(&Fate) -> bool| push.refs.iter().any(|it| wanted(&it.fate));
        let moved = push.refs.iter().filter(|it| matches!(it.fate, Fate::Moved { .. })).count();
        self.count(|counts| {
            counts.acknowledged += u64::from(moved > 0);
            counts.moved += moved as u64;
            counts.unknown += u64::from(has(Fate::is_open));
            counts.refused += u64::from(has(|fate| matches!(fate, Fate::Refused(_))));
        });
        lock(&self.pushes).push(push);
    }

    /// Where the log contradicts what clients were told. Projects that were deleted have none, or soon will.
    pub fn contradictions(&self, log: &[Logged], deleted: &HashSet<i64>) -> Vec<String> {
        let log: Vec<Logged> = log.iter().filter(|row| !deleted.contains(&row.project.get())).cloned().collect();
        let pushes: Vec<Push> =
            lock(&self.pushes).iter().filter(|push| !deleted.contains(&push.project)).cloned().collect();
        let is_moved = |it: &&Tried| matches!(it.fate, Fate::Moved { .. });
        let moved = pushes.iter().flat_map(|push| &push.refs).filter(is_moved).count();
        self.count(|counts| counts.silent = log.len().saturating_sub(moved) as u64);
        contradictions(&pushes, &log)
    }

    /// What anybody tried to put somewhere: the project, the ref and the id.
    pub fn tried(&self) -> Vec<(i64, String, String)> {
        let pushes = lock(&self.pushes);
        let all = pushes.iter().flat_map(|push| push.refs.iter().map(|it| (push.project, it)));
        all.filter_map(|(project, it)| Some((project, it.name.clone(), it.new.clone()?))).collect()
    }
}

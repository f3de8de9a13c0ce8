//! Records the outcome of every push as its client saw it, for comparison with the database after the test.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::report::log_line;

/// The outcome of one ref update, as far as the client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// The update was acknowledged. `old` is the previous value, if the response contained it.
    Updated {
        old: Option<Option<String>>,
    },
    /// The ref already had the new value.
    Unchanged,
    Rejected(String),
    /// No response was received: the update may or may not have been applied.
    Unknown,
    /// The server reported an error, after which the update may or may not have been applied.
    Failed(String),
}

impl UpdateOutcome {
    pub fn is_uncertain(&self) -> bool {
        matches!(self, Self::Unknown | Self::Failed(_))
    }
}

#[derive(Clone, Debug)]
pub struct AttemptedUpdate {
    pub name: String,
    /// The new object id, or `None` to delete the ref.
    pub new: Option<String>,
    pub outcome: UpdateOutcome,
}

#[derive(Clone, Debug)]
pub struct Push {
    pub project: i64,
    pub node: String,
    pub is_atomic: bool,
    pub refs: Vec<AttemptedUpdate>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub acknowledged: u64,
    pub updated_refs: u64,
    pub unknown: u64,
    /// Ref updates that were applied, but not acknowledged to a client.
    pub unacknowledged_updates: u64,
    pub rejected: u64,
    pub forks: u64,
    pub kills: u64,
    pub reads: u64,
    pub failed_reads: u64,
    pub raced_reads: u64,
    /// Failures that are explained by a fault other than a kill, with `--full`.
    pub explained: u64,
    pub deletions: u64,
    pub renames: u64,
    /// Maintenance commands that were run beside the nodes.
    pub admin_commands: u64,
    pub failed_admin_commands: u64,
    /// Unreachable commits that were requested by their ids.
    pub unreachable_probed: u64,
}

/// The pushes, counters and violations of a test.
#[derive(Default)]
pub struct PushHistory {
    pushes: Mutex<Vec<Push>>,
    counts: Mutex<Counts>,
    violations: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PushHistory {
    pub fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut lock(&self.counts));
    }

    pub fn counts(&self) -> Counts {
        *lock(&self.counts)
    }

    pub fn report_violation(&self, text: impl Into<String>) {
        let text = text.into();
        log_line(&format!("VIOLATION: {text}"));
        lock(&self.violations).push(text);
    }

    pub fn violations(&self) -> usize {
        lock(&self.violations).len()
    }

    pub fn record(&self, push: Push) {
        let has = |wanted: fn(&UpdateOutcome) -> bool| push.refs.iter().any(|it| wanted(&it.outcome));
        let updated = push.refs.iter().filter(|it| matches!(it.outcome, UpdateOutcome::Updated { .. })).count();
        self.count(|counts| {
            counts.acknowledged += u64::from(updated > 0);
            counts.updated_refs += updated as u64;
            counts.unknown += u64::from(has(UpdateOutcome::is_uncertain));
            counts.rejected += u64::from(has(|fate| matches!(fate, UpdateOutcome::Rejected(_))));
        });
        lock(&self.pushes).push(push);
    }

    /// Records a ref update that the server made for a request of the API. It counts as no push.
    pub fn record_server_update(&self, push: Push) {
        lock(&self.pushes).push(push);
    }

    /// Returns a copy of all pushes so far.
    pub fn pushes(&self) -> Vec<Push> {
        lock(&self.pushes).clone()
    }

    /// Returns project, ref name and object id of every attempted ref update that is not a deletion.
    pub fn pushed_ids(&self) -> Vec<(i64, String, String)> {
        let pushes = lock(&self.pushes);
        let updates = pushes.iter().flat_map(|push| push.refs.iter().map(|it| (push.project, it)));
        updates.filter_map(|(project, it)| Some((project, it.name.clone(), it.new.clone()?))).collect()
    }
}

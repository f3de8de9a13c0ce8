//! Records injected faults, and decides whether a fault explains the failure of a request.
//!
//! A failure is explained only by a fault that affects its node or project at that time, and never if the response was
//! wrong instead of an error.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    CutConnection,
    RestartedDatabase,
    FullDisk,
    RemovedCache,
    RenamedProject,
    DeletedProject,
    FailingStore,
    /// Not a fault: objects were pruned while a push relied on them, and the client was asked to push again.
    RetriedPush,
}

impl FaultKind {
    pub fn label(self) -> &'static str {
        match self {
            Self::CutConnection => "cut connections of the database",
            Self::RestartedDatabase => "crashes and restarts of the database",
            Self::FullDisk => "full disks",
            Self::RemovedCache => "removed caches",
            Self::RenamedProject => "renamed projects",
            Self::DeletedProject => "deleted projects",
            Self::FailingStore => "failing requests to the object store",
            Self::RetriedPush => "requests to push again",
        }
    }

    pub fn effect_label(self) -> &'static str {
        match self {
            Self::CutConnection => "  by a cut connection",
            Self::RestartedDatabase => "  by a crash of the database",
            Self::FullDisk => "  by a full disk",
            Self::RemovedCache => "  by a removed cache",
            Self::RenamedProject => "  by renaming the project",
            Self::DeletedProject => "  by deleting the project",
            Self::FailingStore => "  by the object store",
            Self::RetriedPush => "  because objects were pruned during the request",
        }
    }

    /// Returns how long a fault still explains failures after its end.
    fn effect_duration(self) -> Duration {
        Duration::from_millis(match self {
            // The pool does not test connections that were used within the last second.
            Self::CutConnection => 1500,
            Self::RestartedDatabase => 5000,
            Self::FullDisk | Self::RemovedCache => 2000,
            Self::RenamedProject | Self::DeletedProject | Self::FailingStore | Self::RetriedPush => 1000,
        })
    }
}

/// The part of the installation that a fault affects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    All,
    Node(String),
    Project(i64),
}

#[derive(Debug)]
struct Fault {
    kind: FaultKind,
    target: FaultTarget,
    began: Instant,
    ended: Option<Instant>,
}

/// A failed operation: its node, its project, and when it began.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub node: &'a str,
    pub project: Option<i64>,
    pub since: Instant,
}

/// How long faults are remembered; longer than the timeout of any client.
const FAULT_RETENTION: Duration = Duration::from_secs(300);

#[derive(Default)]
pub struct Faults {
    recent: Mutex<Vec<Fault>>,
    injected: Mutex<BTreeMap<FaultKind, u64>>,
    explained: Mutex<BTreeMap<FaultKind, u64>>,
    /// Whether the object store of the nodes fails at random throughout the test.
    pub is_store_failing: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard of an injected fault, which ends when the guard is dropped.
pub struct FaultGuard<'a> {
    faults: &'a Faults,
    began: Instant,
    kind: FaultKind,
}

impl Drop for FaultGuard<'_> {
    fn drop(&mut self) {
        let mut recent = lock(&self.faults.recent);
        let own = recent.iter_mut().filter(|it| it.began == self.began && it.kind == self.kind);
        own.for_each(|it| it.ended = Some(Instant::now()));
    }
}

impl Faults {
    pub fn new(is_store_failing: bool) -> Self {
        Self { is_store_failing, ..Self::default() }
    }

    pub fn inject(&self, kind: FaultKind, target: FaultTarget) -> FaultGuard<'_> {
        let began = Instant::now();
        let mut recent = lock(&self.recent);
        recent.retain(|it| it.ended.is_none_or(|ended| ended.elapsed() < FAULT_RETENTION));
        recent.push(Fault { kind, target, began, ended: None });
        *lock(&self.injected).entry(kind).or_default() += 1;
        FaultGuard { faults: self, began, kind }
    }

    /// Returns the fault that explains why an attempt has just failed with this output, and counts it.
    pub fn explaining_fault(&self, attempt: Attempt<'_>, output: &str) -> Option<FaultKind> {
        let found = self.find_explanation(attempt, output, Instant::now())?;
        *lock(&self.explained).entry(found).or_default() += 1;
        Some(found)
    }

    fn find_explanation(&self, attempt: Attempt<'_>, output: &str, now: Instant) -> Option<FaultKind> {
        let affects = |it: &Fault| {
            let is_hit = match &it.target {
                FaultTarget::All => true,
                FaultTarget::Node(node) => node == attempt.node,
                FaultTarget::Project(project) => Some(*project) == attempt.project,
            };
            let end = it.ended.unwrap_or(now) + it.kind.effect_duration();
            is_hit && it.began <= now && end >= attempt.since
        };
        let recent = lock(&self.recent);
        let mut active = recent.iter().filter(|it| affects(it)).map(|it| it.kind);
        if is_incorrect_response(output) {
            // Deleting a cached repository while git reads it causes this error, and it is the only fault that may.
            let is_incomplete = output.contains("missing necessary objects");
            return active.find(|kind| is_incomplete && *kind == FaultKind::RemovedCache);
        }
        if output.contains("were pruned during") || output.contains("took too long") {
            return Some(FaultKind::RetriedPush).filter(|_| self.is_store_failing);
        }
        let is_not_found = output.contains("not found") || output.contains("could not be found");
        if self.is_store_failing && output.contains("object store") {
            return Some(FaultKind::FailingStore);
        }
        let is_store_error = output.contains("503");
        let mut matching = active
            .filter(|kind| !is_not_found || matches!(kind, FaultKind::RenamedProject | FaultKind::DeletedProject));
        matching.next().or_else(|| Some(FaultKind::FailingStore).filter(|_| self.is_store_failing && is_store_error))
    }

    pub fn injected_count(&self) -> BTreeMap<FaultKind, u64> {
        lock(&self.injected).clone()
    }

    pub fn explained_count(&self) -> BTreeMap<FaultKind, u64> {
        lock(&self.explained).clone()
    }
}

/// Returns whether the output shows a wrong or missing response instead of an error.
fn is_incorrect_response(output: &str) -> bool {
    const WRONG: [&str; 6] = [
        "missing necessary objects",
        "did not send all necessary objects",
        "no answer within",
        "fsck error",
        "hash mismatch",
        "panicked",
    ];
    WRONG.iter().any(|text| output.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(node: &str, project: i64) -> Attempt<'_> {
        Attempt { node, project: Some(project), since: Instant::now() }
    }

    #[test]
    fn errors_without_a_fault_are_unexplained() {
        let faults = Faults::default();
        assert_eq!(faults.explaining_fault(attempt("a", 1), "503 Service Unavailable"), None);
        assert_eq!(faults.explaining_fault(attempt("a", 1), "internal error"), None);
    }

    #[test]
    fn faults_explain_errors_of_their_target_for_a_while() {
        let faults = Faults::default();
        let strike = faults.inject(FaultKind::FullDisk, FaultTarget::Node("a".into()));
        assert_eq!(faults.explaining_fault(attempt("a", 1), "internal error"), Some(FaultKind::FullDisk));
        assert_eq!(faults.explaining_fault(attempt("b", 1), "internal error"), None);
        drop(strike);
        assert_eq!(faults.explaining_fault(attempt("a", 1), "internal error"), Some(FaultKind::FullDisk));
        let later = Instant::now() + Duration::from_secs(60);
        let since_then = Attempt { since: later, ..attempt("a", 1) };
        assert_eq!(faults.find_explanation(since_then, "internal error", later), None);
        assert_eq!(faults.injected_count()[&FaultKind::FullDisk], 1);
        assert_eq!(faults.explained_count()[&FaultKind::FullDisk], 2);
    }

    #[test]
    fn deletion_explains_only_not_found_errors() {
        let faults = Faults::default();
        let _cut = faults.inject(FaultKind::CutConnection, FaultTarget::All);
        let output = "fatal: repository 'http://127.0.0.1/a/b.git/' not found";
        assert_eq!(faults.explaining_fault(attempt("a", 1), output), None);
        let _deleted = faults.inject(FaultKind::DeletedProject, FaultTarget::Project(1));
        assert_eq!(faults.explaining_fault(attempt("a", 1), output), Some(FaultKind::DeletedProject));
        assert_eq!(faults.explaining_fault(attempt("a", 2), output), None);
    }

    #[test]
    fn wrong_responses_are_never_explained_by_a_fault() {
        let faults = Faults::new(true);
        let _restart = faults.inject(FaultKind::RestartedDatabase, FaultTarget::All);
        assert_eq!(faults.explaining_fault(attempt("a", 1), "no answer within 120 seconds"), None);
        assert_eq!(faults.explaining_fault(attempt("a", 1), "missing necessary objects"), None);
        assert!(faults.explaining_fault(attempt("a", 1), "unpacker error").is_some());
    }

    #[test]
    fn a_failing_store_explains_object_store_errors() {
        let faults = Faults::new(true);
        assert_eq!(
            faults.explaining_fault(attempt("a", 1), "the object store is unavailable; push again later"),
            Some(FaultKind::FailingStore)
        );
        assert_eq!(faults.explaining_fault(attempt("a", 1), "internal error"), None);
    }
}

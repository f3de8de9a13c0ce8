//! What was done to the installation lately. An error is forgiven only if something around it explains it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    CutConnection,
    RestartedDatabase,
    FullDisk,
    RemovedCache,
    Renamed,
    Deleted,
    FailingStore,
    /// No fault: objects were removed for good while a push relied on what was there.
    AskedToPushAgain,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::CutConnection => "cut connections of the database",
            Self::RestartedDatabase => "crashes and restarts of the database",
            Self::FullDisk => "full disks",
            Self::RemovedCache => "removed caches",
            Self::Renamed => "renamed projects",
            Self::Deleted => "deleted projects",
            Self::FailingStore => "failing requests to the object store",
            Self::AskedToPushAgain => "requests to push again",
        }
    }

    pub fn name_of_excuse(self) -> &'static str {
        match self {
            Self::CutConnection => "  by a cut connection",
            Self::RestartedDatabase => "  by a crash of the database",
            Self::FullDisk => "  by a full disk",
            Self::RemovedCache => "  by a removed cache",
            Self::Renamed => "  by a project's being renamed",
            Self::Deleted => "  by a project's being deleted",
            Self::FailingStore => "  by the object store",
            Self::AskedToPushAgain => "  because objects were removed meanwhile",
        }
    }

    /// How long afterwards it is still felt.
    fn aftermath(self) -> Duration {
        Duration::from_millis(match self {
            // A connection that was used a second ago is not tried before it is used again.
            Self::CutConnection => 1500,
            Self::RestartedDatabase => 5000,
            Self::FullDisk | Self::RemovedCache => 2000,
            Self::Renamed | Self::Deleted | Self::FailingStore | Self::AskedToPushAgain => 1000,
        })
    }
}

/// Whom it hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victim {
    All,
    Node(String),
    Project(i64),
}

#[derive(Debug)]
struct Fault {
    kind: Kind,
    victim: Victim,
    began: Instant,
    ended: Option<Instant>,
}

/// Whose error it is, and since when it tried.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub node: &'a str,
    pub project: Option<i64>,
    pub since: Instant,
}

/// Older ones explain nothing: no client waits that long.
const REMEMBERED: Duration = Duration::from_secs(300);

#[derive(Default)]
pub struct Faults {
    lately: Mutex<Vec<Fault>>,
    struck: Mutex<BTreeMap<Kind, u64>>,
    excused: Mutex<BTreeMap<Kind, u64>>,
    /// The object store fails all the time.
    pub store_fails: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fault that lasts until it is dropped.
pub struct Strike<'a> {
    faults: &'a Faults,
    began: Instant,
    kind: Kind,
}

impl Drop for Strike<'_> {
    fn drop(&mut self) {
        let mut lately = lock(&self.faults.lately);
        let mine = lately.iter_mut().filter(|it| it.began == self.began && it.kind == self.kind);
        mine.for_each(|it| it.ended = Some(Instant::now()));
    }
}

impl Faults {
    pub fn new(store_fails: bool) -> Self {
        Self { store_fails, ..Self::default() }
    }

    pub fn strike(&self, kind: Kind, victim: Victim) -> Strike<'_> {
        let began = Instant::now();
        let mut lately = lock(&self.lately);
        lately.retain(|it| it.ended.is_none_or(|ended| ended.elapsed() < REMEMBERED));
        lately.push(Fault { kind, victim, began, ended: None });
        *lock(&self.struck).entry(kind).or_default() += 1;
        Strike { faults: self, began, kind }
    }

    /// What explains that an attempt has failed just now with these words, if anything does.
    pub fn excuse(&self, attempt: Attempt<'_>, said: &str) -> Option<Kind> {
        let found = self.explanation(attempt, said, Instant::now())?;
        *lock(&self.excused).entry(found).or_default() += 1;
        Some(found)
    }

    fn explanation(&self, attempt: Attempt<'_>, said: &str, now: Instant) -> Option<Kind> {
        let reaches = |it: &Fault| {
            let is_hit = match &it.victim {
                Victim::All => true,
                Victim::Node(node) => node == attempt.node,
                Victim::Project(project) => Some(*project) == attempt.project,
            };
            let end = it.ended.unwrap_or(now) + it.kind.aftermath();
            is_hit && it.began <= now && end >= attempt.since
        };
        let lately = lock(&self.lately);
        let mut around = lately.iter().filter(|it| reaches(it)).map(|it| it.kind);
        if is_wrong(said) {
            // A copy that is taken away while it is read looks like this; nothing else does.
            let is_incomplete = said.contains("missing necessary objects");
            return around.find(|kind| is_incomplete && *kind == Kind::RemovedCache);
        }
        if said.contains("cleaned up meanwhile") || said.contains("took too long") {
            return Some(Kind::AskedToPushAgain).filter(|_| self.store_fails);
        }
        let is_gone = said.contains("not found") || said.contains("could not be found");
        if self.store_fails && said.contains("object store") {
            return Some(Kind::FailingStore);
        }
        let is_of_store = said.contains("503");
        let mut fitting = around.filter(|kind| !is_gone || matches!(kind, Kind::Renamed | Kind::Deleted));
        fitting.next().or_else(|| Some(Kind::FailingStore).filter(|_| self.store_fails && is_of_store))
    }

    pub fn struck(&self) -> BTreeMap<Kind, u64> {
        lock(&self.struck).clone()
    }

    pub fn excused(&self) -> BTreeMap<Kind, u64> {
        lock(&self.excused).clone()
    }
}

/// Answers that no fault excuses: they are not failures, but wrong.
fn is_wrong(said: &str) -> bool {
    const WRONG: [&str; 6] = [
        "missing necessary objects",
        "did not send all necessary objects",
        "no answer within",
        "fsck error",
        "hash mismatch",
        "panicked",
    ];
    WRONG.iter().any(|text| said.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(node: &str, project: i64) -> Attempt<'_> {
        Attempt { node, project: Some(project), since: Instant::now() }
    }

    #[test]
    fn without_a_fault_nothing_is_excused() {
        let faults = Faults::default();
        assert_eq!(faults.excuse(attempt("a", 1), "503 Service Unavailable"), None);
        assert_eq!(faults.excuse(attempt("a", 1), "internal error"), None);
    }

    #[test]
    fn a_fault_excuses_those_it_hits_for_a_while() {
        let faults = Faults::default();
        let strike = faults.strike(Kind::FullDisk, Victim::Node("a".into()));
        assert_eq!(faults.excuse(attempt("a", 1), "internal error"), Some(Kind::FullDisk));
        assert_eq!(faults.excuse(attempt("b", 1), "internal error"), None);
        drop(strike);
        assert_eq!(faults.excuse(attempt("a", 1), "internal error"), Some(Kind::FullDisk));
        let later = Instant::now() + Duration::from_secs(60);
        let since_then = Attempt { since: later, ..attempt("a", 1) };
        assert_eq!(faults.explanation(since_then, "internal error", later), None);
        assert_eq!(faults.struck()[&Kind::FullDisk], 1);
        assert_eq!(faults.excused()[&Kind::FullDisk], 2);
    }

    #[test]
    fn what_was_deleted_is_not_found_and_nothing_else() {
        let faults = Faults::default();
        let _cut = faults.strike(Kind::CutConnection, Victim::All);
        let said = "fatal: repository 'http://127.0.0.1/a/b.git/' not found";
        assert_eq!(faults.excuse(attempt("a", 1), said), None);
        let _deleted = faults.strike(Kind::Deleted, Victim::Project(1));
        assert_eq!(faults.excuse(attempt("a", 1), said), Some(Kind::Deleted));
        assert_eq!(faults.excuse(attempt("a", 2), said), None);
    }

    #[test]
    fn a_wrong_answer_is_never_excused() {
        let faults = Faults::new(true);
        let _restart = faults.strike(Kind::RestartedDatabase, Victim::All);
        assert_eq!(faults.excuse(attempt("a", 1), "no answer within 120 seconds"), None);
        assert_eq!(faults.excuse(attempt("a", 1), "missing necessary objects"), None);
        assert!(faults.excuse(attempt("a", 1), "unpacker error").is_some());
    }

    #[test]
    fn a_store_that_fails_excuses_what_needs_it() {
        let faults = Faults::new(true);
        assert_eq!(
            faults.excuse(attempt("a", 1), "the object store cannot be reached, please push again"),
            Some(Kind::FailingStore)
        );
        assert_eq!(faults.excuse(attempt("a", 1), "internal error"), None);
    }
}

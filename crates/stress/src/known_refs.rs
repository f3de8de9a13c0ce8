//! The expected values of the refs that only one client updates.

use std::collections::BTreeMap;

use super::history::UpdateOutcome;
use super::push::{Expected, RefUpdate};

/// The possible values of a ref: the last known one, and those of pushes with an unknown outcome.
#[derive(Clone, Debug, Default)]
pub struct KnownRef {
    pub last: Option<String>,
    possible: Vec<Option<String>>,
}

impl KnownRef {
    fn allows(&self, current: Option<&str>) -> bool {
        self.last.as_deref() == current || self.possible.iter().any(|maybe| maybe.as_deref() == current)
    }
}

/// The known refs of a client, by project and name.
#[derive(Default)]
pub struct KnownRefs(BTreeMap<(i64, String), KnownRef>);

impl KnownRefs {
    pub fn last(&self, project: i64, name: &str) -> Option<&str> {
        self.0.get(&(project, name.to_owned()))?.last.as_deref()
    }

    /// Returns the outcome to expect of an update of this ref. A ref of a fork that this client never pushed may
    /// already exist, so anything is possible.
    pub fn expected(&self, project: i64, name: &str, is_fork: bool) -> Expected {
        match self.0.get(&(project, name.to_owned())) {
            Some(known) if known.possible.is_empty() => Expected::Success,
            None if !is_fork => Expected::Success,
            _ => Expected::Anything,
        }
    }

    pub fn record(&mut self, project: i64, update: &RefUpdate, outcome: &UpdateOutcome) {
        let is_new = !self.0.contains_key(&(project, update.name.clone()));
        match outcome {
            // The ref may still have its initial value in the fork, which this client does not know.
            fate if fate.is_uncertain() && is_new && update.expected == Expected::Anything => {}
            UpdateOutcome::Updated { .. } | UpdateOutcome::Unchanged => {
                self.entry(project, &update.name).last.clone_from(&update.new)
            }
            UpdateOutcome::Unknown | UpdateOutcome::Failed(_) => {
                self.entry(project, &update.name).possible.push(update.new.clone())
            }
            UpdateOutcome::Rejected(_) => {}
        }
    }

    fn entry(&mut self, project: i64, name: &str) -> &mut KnownRef {
        self.0.entry((project, name.to_owned())).or_default()
    }

    /// Copies the known refs of the source to its fork.
    pub fn copy_refs(&mut self, source: i64, fork: i64) {
        let source_refs = self.0.range((source, String::new())..(source + 1, String::new()));
        let copied: Vec<_> = source_refs.map(|((_, name), known)| ((fork, name.clone()), known.clone())).collect();
        self.0.extend(copied);
    }

    /// Compares refs that were read with the possible values, and returns the mismatches. A value that is possible
    /// becomes the last known one.
    pub fn compare(&mut self, project: i64, seen: &BTreeMap<&str, &str>) -> Vec<String> {
        let mut mismatches = Vec::new();
        for ((_, name), known) in self.0.range_mut((project, String::new())..(project + 1, String::new())) {
            let current = seen.get(name.as_str()).copied();
            if known.allows(current) {
                known.last = current.map(str::to_owned);
            } else {
                mismatches.push(format!("{name} of project {project} is {current:?}, but must be {known:?}"));
            }
        }
        mismatches
    }
}

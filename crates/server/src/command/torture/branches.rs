//! What one client knows of the refs that it alone moves.

use std::collections::BTreeMap;

use super::ledger::Fate;
use super::push::{Expected, Wish};

/// Where a ref is: where it was put last, or where one of the pushes left it whose answer never came.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub last: Option<String>,
    maybe: Vec<Option<String>>,
}

impl Known {
    fn allows(&self, seen: Option<&str>) -> bool {
        self.last.as_deref() == seen || self.maybe.iter().any(|maybe| maybe.as_deref() == seen)
    }
}

/// By project and name.
#[derive(Default)]
pub struct Branches(BTreeMap<(i64, String), Known>);

impl Branches {
    pub fn last(&self, project: i64, name: &str) -> Option<&str> {
        self.0.get(&(project, name.to_owned()))?.last.as_deref()
    }

    /// Of a ref that was never pushed nothing is known: a fork has refs from the beginning.
    pub fn expected(&self, project: i64, name: &str, is_fork: bool) -> Expected {
        match self.0.get(&(project, name.to_owned())) {
            Some(known) if known.maybe.is_empty() => Expected::Success,
            None if !is_fork => Expected::Success,
            _ => Expected::Anything,
        }
    }

    pub fn learn(&mut self, project: i64, wish: &Wish, fate: &Fate) {
        let is_new = !self.0.contains_key(&(project, wish.name.clone()));
        match fate {
            // It may still be what the fork began with, which nobody told this client.
            fate if fate.is_open() && is_new && wish.expected == Expected::Anything => {}
            Fate::Moved { .. } | Fate::Same => self.known(project, &wish.name).last.clone_from(&wish.new),
            Fate::Unknown | Fate::Failed(_) => self.known(project, &wish.name).maybe.push(wish.new.clone()),
            Fate::Refused(_) => {}
        }
    }

    fn known(&mut self, project: i64, name: &str) -> &mut Known {
        self.0.entry((project, name.to_owned())).or_default()
    }

    /// A fork begins with the refs that its source had.
    pub fn copy(&mut self, source: i64, fork: i64) {
        let of_source = self.0.range((source, String::new())..(source + 1, String::new()));
        let copied: Vec<_> = of_source.map(|((_, name), known)| ((fork, name.clone()), known.clone())).collect();
        self.0.extend(copied);
    }

    /// Takes over what was seen; gives what cannot be.
    pub fn compare(&mut self, project: i64, seen: &BTreeMap<&str, &str>) -> Vec<String> {
        let mut wrong = Vec::new();
        for ((_, name), known) in self.0.range_mut((project, String::new())..(project + 1, String::new())) {
            let is = seen.get(name.as_str()).copied();
            if known.allows(is) {
                known.last = is.map(str::to_owned);
            } else {
                wrong.push(format!("{name} of project {project} is {is:?}, but must be {known:?}"));
            }
        }
        wrong
    }
}

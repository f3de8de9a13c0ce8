use std::collections::VecDeque;
use std::rc::Rc;

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::diff::tree::visit::{Action, Change};
use gix::diff::tree::{Error as DiffError, State, Visit};
use gix::objs::TreeRefIter;

use super::Reader;
use crate::{Error, Result};

/// The files that a commit changed, each list in the order of its paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    pub added: Vec<String>,
    pub modified: Vec<String>,
    pub removed: Vec<String>,
}

/// Longer paths are left out: a small tree can hold very many very long ones.
const LONGEST_PATH: usize = 4096;
/// All paths together.
const MOST_BYTES: usize = 64 << 10;
/// Entries that are looked at: a small tree can hold itself a billion times over.
const MOST_ENTRIES: usize = 100_000;

/// A place in the tree. Places share what they have in common.
#[derive(Clone, Default)]
struct Place {
    last: Option<Rc<Component>>,
    /// Components after a path that is too long already.
    beyond: usize,
}

struct Component {
    name: BString,
    parent: Option<Rc<Component>>,
    /// Of the whole path up to here.
    length: usize,
}

impl Place {
    fn push(&mut self, name: &BStr) {
        let length = self.last.as_ref().map_or(0, |last| last.length + 1) + name.len();
        if self.beyond > 0 || length > LONGEST_PATH {
            self.beyond += 1;
        } else {
            self.last = Some(Rc::new(Component { name: name.to_owned(), parent: self.last.take(), length }));
        }
    }

    fn pop(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
        } else {
            self.last = self.last.take().and_then(|last| last.parent.clone());
        }
    }

    fn path(&self) -> Option<String> {
        let mut names = Vec::new();
        let mut next = self.last.as_ref().filter(|_| self.beyond == 0);
        while let Some(component) = next {
            names.push(String::from_utf8_lossy(&component.name));
            next = component.parent.as_ref();
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join("/"))
    }
}

/// Records the paths of files, and stops when there are enough.
struct Walk {
    place: Place,
    later: VecDeque<Place>,
    found: ChangedPaths,
    most: usize,
    bytes: usize,
    entries: usize,
}

impl Visit for Walk {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.place = self.later.pop_front().unwrap_or_default();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.place.push(component);
        self.later.push_back(self.place.clone());
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.place.push(component);
    }

    fn pop_path_component(&mut self) {
        self.place.pop();
    }

    fn visit(&mut self, change: Change) -> Action {
        self.entries += 1;
        if self.entries > MOST_ENTRIES || self.most == 0 {
            return Action::Break(());
        }
        if change.entry_mode().is_tree() {
            return Action::Continue(());
        }
        let Some(path) = self.place.path() else { return Action::Continue(()) };
        self.bytes += path.len();
        if self.bytes > MOST_BYTES {
            return Action::Break(());
        }
        self.most -= 1;
        match change {
            Change::Addition { .. } => self.found.added.push(path),
            Change::Deletion { .. } => self.found.removed.push(path),
            Change::Modification { .. } => self.found.modified.push(path),
        }
        Action::Continue(())
    }
}

impl Reader {
    /// Against its first parent, at most so many. A file that was renamed is one that was removed and one that was added.
    pub fn changed_paths(&self, commit: ObjectId, most: usize) -> Result<ChangedPaths> {
        let tree = |commit: Option<ObjectId>| match commit {
            Some(commit) => {
                Ok(self.0.find_tree(self.tree_of(commit)?).map_err(super::unreadable(commit))?.data.clone())
            }
            None => Ok::<_, Error>(Vec::new()),
        };
        let (old, new) = (tree(self.parents(commit)?.first().copied())?, tree(Some(commit))?);
        let mut walk = Walk {
            place: Place::default(),
            later: VecDeque::new(),
            found: ChangedPaths::default(),
            most,
            bytes: 0,
            entries: 0,
        };
        let kind = self.0.object_hash();
        let (old, new) = (TreeRefIter::from_bytes(&old, kind), TreeRefIter::from_bytes(&new, kind));
        match gix::diff::tree(old, new, State::default(), &self.0.objects, &mut walk) {
            Ok(()) | Err(DiffError::Cancelled) => {}
            Err(DiffError::Failure(error)) => return Err(super::unreadable(commit)(error)),
        }
        let mut found = walk.found;
        for paths in [&mut found.added, &mut found.modified, &mut found.removed] {
            paths.sort_unstable();
        }
        Ok(found)
    }
}

//! Lists the files that a commit changed, in bounded time and memory.

use std::collections::VecDeque;
use std::rc::Rc;

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::diff::tree::visit::{Action, Change};
use gix::diff::tree::{Error as DiffError, State, Visit};
use gix::objs::TreeRefIter;

use super::Reader;
use crate::{Error, Result};

/// The files that a commit changed, each list sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    pub added: Vec<String>,
    pub modified: Vec<String>,
    pub removed: Vec<String>,
}

/// Maximum length of a path. Longer ones are left out: a small tree can contain many very long paths.
const MAX_PATH_BYTES: usize = 4096;
/// Maximum length of all paths together.
const MAX_PATHS_BYTES: usize = 64 << 10;
/// Maximum number of entries that are visited: a small tree can contain itself a billion times.
const MAX_ENTRIES: usize = 100_000;

/// A path in the tree. Paths share their common components.
#[derive(Clone, Default)]
struct TreePath {
    last: Option<Rc<Component>>,
    /// Number of components after the path has become too long.
    excess_depth: usize,
}

struct Component {
    name: BString,
    parent: Option<Rc<Component>>,
    /// Length of the whole path up to this component.
    length: usize,
}

impl TreePath {
    fn push(&mut self, name: &BStr) {
        let length = self.last.as_ref().map_or(0, |last| last.length + 1) + name.len();
        if self.excess_depth > 0 || length > MAX_PATH_BYTES {
            self.excess_depth += 1;
        } else {
            self.last = Some(Rc::new(Component { name: name.to_owned(), parent: self.last.take(), length }));
        }
    }

    fn pop(&mut self) {
        if self.excess_depth > 0 {
            self.excess_depth -= 1;
        } else {
            self.last = self.last.take().and_then(|last| last.parent.clone());
        }
    }

    fn full_path(&self) -> Option<String> {
        let mut names = Vec::new();
        let mut next = self.last.as_ref().filter(|_| self.excess_depth == 0);
        while let Some(component) = next {
            names.push(String::from_utf8_lossy(&component.name));
            next = component.parent.as_ref();
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join("/"))
    }
}

/// Collects the paths of changed files until a limit is reached.
struct Walk {
    current_path: TreePath,
    queued_paths: VecDeque<TreePath>,
    found: ChangedPaths,
    remaining_paths: usize,
    bytes: usize,
    entries: usize,
}

impl Visit for Walk {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.current_path = self.queued_paths.pop_front().unwrap_or_default();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.current_path.push(component);
        self.queued_paths.push_back(self.current_path.clone());
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.current_path.push(component);
    }

    fn pop_path_component(&mut self) {
        self.current_path.pop();
    }

    fn visit(&mut self, change: Change) -> Action {
        self.entries += 1;
        if self.entries > MAX_ENTRIES || self.remaining_paths == 0 {
            return Action::Break(());
        }
        if change.entry_mode().is_tree() {
            return Action::Continue(());
        }
        let Some(path) = self.current_path.full_path() else { return Action::Continue(()) };
        self.bytes += path.len();
        if self.bytes > MAX_PATHS_BYTES {
            return Action::Break(());
        }
        self.remaining_paths -= 1;
        match change {
            Change::Addition { .. } => self.found.added.push(path),
            Change::Deletion { .. } => self.found.removed.push(path),
            Change::Modification { .. } => self.found.modified.push(path),
        }
        Action::Continue(())
    }
}

impl Reader {
    /// Compares a commit with its first parent and returns at most `max_paths` files. A renamed file is listed as
    /// removed and added.
    pub fn changed_paths(&self, commit: ObjectId, max_paths: usize) -> Result<ChangedPaths> {
        let tree = |commit: Option<ObjectId>| match commit {
            Some(commit) => {
                Ok(self.0.find_tree(self.commit_tree_id(commit)?).map_err(super::unreadable(commit))?.data.clone())
            }
            None => Ok::<_, Error>(Vec::new()),
        };
        let (old, new) = (tree(self.parents(commit)?.first().copied())?, tree(Some(commit))?);
        let mut walk = Walk {
            current_path: TreePath::default(),
            queued_paths: VecDeque::new(),
            found: ChangedPaths::default(),
            remaining_paths: max_paths,
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

//! Proves in this process that a push is connected, which for most pushes saves a git process.

use std::collections::HashSet;

use gix::ObjectId;

use super::{EntryKind, Kind, Reader, TreeEntry, unreadable};
use crate::Result;
use crate::index_pack::ReceivedObjects;

/// Maximum number of objects of a push that is checked here. For more objects, starting git costs less than its faster
/// walk saves.
const MAX_RECEIVED: usize = 300;
/// Maximum number of commits and tree entries that are read. Git checks pushes to repositories with larger directories.
const MAX_VISITED: usize = 50_000;
/// Maximum depth of directories that are read. The check is recursive.
const MAX_DEPTH: usize = 100;

/// The commits and trees whose references are known to be usable, or are about to be checked.
struct Check<'a> {
    reader: &'a Reader,
    received: &'a ReceivedObjects,
    commits: HashSet<ObjectId>,
    trees: HashSet<ObjectId>,
    visited: usize,
}

impl Reader {
    /// Returns true if every object that the tips in `new` need is among the received objects, or in the tree of a
    /// commit in `known` or of a received commit, at the same path. Otherwise the push may still be connected, and git
    /// must check it.
    pub fn is_evidently_connected(
        &self,
        new: &[ObjectId],
        known: &[ObjectId],
        received: &ReceivedObjects,
    ) -> Result<bool> {
        if received.len() > MAX_RECEIVED {
            return Ok(false);
        }
        let commits = known.iter().copied().collect();
        let mut check = Check { reader: self, received, commits, trees: HashSet::new(), visited: 0 };
        let mut pending = Vec::new();
        for tip in new {
            match check.find_commit(*tip)? {
                Some(commit) => pending.push(commit),
                None => return Ok(false),
            }
        }
        while let Some(commit) = pending.pop() {
            if !check.commits.insert(commit) {
                continue;
            }
            if !received.contains(commit) || !check.commit(commit, &mut pending)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Check<'_> {
    /// Follows received tags to a commit. Returns None if there is none.
    fn find_commit(&self, tip: ObjectId) -> Result<Option<ObjectId>> {
        if self.commits.contains(&tip) {
            return Ok(Some(tip));
        }
        let mut current = tip;
        for _ in 0..super::MAX_TAG_DEPTH {
            if !self.received.contains(current) {
                return Ok(self.commits.contains(&current).then_some(current));
            }
            match self.reader.checked_kind(current)? {
                Kind::Commit => return Ok(Some(current)),
                Kind::Tag => {
                    let tag = self.reader.0.find_tag(current).map_err(unreadable(current))?;
                    current = tag.target_id().map_err(unreadable(current))?.detach();
                }
                Kind::Tree | Kind::Blob => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Checks the tree of a received commit, and adds its parents to `pending`.
    fn commit(&mut self, id: ObjectId, pending: &mut Vec<ObjectId>) -> Result<bool> {
        self.reader.expect_commit(id)?;
        self.visited += 1;
        if self.visited > MAX_VISITED {
            return Ok(false);
        }
        let commit = self.reader.0.find_commit(id).map_err(unreadable(id))?;
        let tree = commit.tree_id().map_err(unreadable(id))?.detach();
        let mut parent_trees = Vec::new();
        for parent in commit.parent_ids() {
            let parent = parent.detach();
            // Parents that are neither received nor known may be unreachable, so their trees prove nothing.
            if !self.commits.contains(&parent) && !self.received.contains(parent) {
                return Ok(false);
            }
            parent_trees.push(self.reader.commit_tree_id(parent)?);
            pending.push(parent);
        }
        if parent_trees.contains(&tree) {
            return Ok(true);
        }
        Ok(self.received.contains(tree) && self.tree(tree, &parent_trees, 0)?)
    }

    /// Checks the entries of a received tree against the trees at the same path in the parents, which are checked, too,
    /// or known.
    fn tree(&mut self, id: ObjectId, parents: &[ObjectId], depth: usize) -> Result<bool> {
        if !self.trees.insert(id) {
            return Ok(true);
        }
        if depth > MAX_DEPTH {
            return Ok(false);
        }
        let Some(entries) = self.entries(id)? else { return Ok(false) };
        let mut parent_entries = Vec::new();
        for parent in parents {
            let Some(entries) = self.entries(*parent)? else { return Ok(false) };
            parent_entries.extend(entries);
        }
        let in_parents: HashSet<(ObjectId, EntryKind)> =
            parent_entries.iter().map(|entry| (entry.id, entry.kind())).collect();
        for entry in entries {
            let kind = entry.kind();
            if kind == EntryKind::Submodule || in_parents.contains(&(entry.id, kind)) {
                continue;
            }
            let is_usable = match kind {
                _ if !self.received.contains(entry.id) => false,
                EntryKind::Directory => {
                    let is_same = |other: &&TreeEntry| other.path == entry.path && other.kind() == kind;
                    let parents: Vec<ObjectId> = parent_entries.iter().filter(is_same).map(|it| it.id).collect();
                    self.tree(entry.id, &parents, depth + 1)?
                }
                EntryKind::File | EntryKind::Submodule => self.reader.kind(entry.id)? == Some(Kind::Blob),
            };
            if !is_usable {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the entries of a tree, or None if it is too large or the limit is reached.
    fn entries(&mut self, tree: ObjectId) -> Result<Option<Vec<TreeEntry>>> {
        let entries = self.reader.tree(tree)?;
        self.visited += 1 + entries.as_ref().map_or(0, Vec::len);
        Ok(entries.filter(|_| self.visited <= MAX_VISITED))
    }
}

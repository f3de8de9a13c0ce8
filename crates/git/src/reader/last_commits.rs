//! Finds the commits that last changed the entries of a directory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Instant;

use gix::ObjectId;

use super::{EntryKind, Reader, TreeEntry, TreeLookup};
use crate::Result;

/// The commits that last changed the entries of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastCommits {
    /// Names of entries with their commits.
    pub found: Vec<(Vec<u8>, ObjectId)>,
    /// Whether all entries were found before the time was over.
    pub is_complete: bool,
}

impl Reader {
    /// Finds the commits that last changed the entries of a directory at `commit`, or one entry alone. Stops at
    /// `deadline`, or at a directory that is too large to be read at once.
    ///
    /// An entry is followed from a commit to the first parent in which it is the same. A commit of which no parent has
    /// the same entry is its last commit, as for `git log` with a path.
    pub fn last_commits(
        &self,
        commit: ObjectId,
        directory: &[u8],
        only: Option<&[u8]>,
        deadline: Instant,
    ) -> Result<LastCommits> {
        let Some(state) = self.directory_state(commit, directory)? else { return Ok(LastCommits::default()) };
        let Some(mut entries) = self.state_entries(state)? else { return Ok(LastCommits::default()) };
        entries.retain(|entry| only.is_none_or(|name| entry.path == name));
        let mut walk = Walk { reader: self, queue: BinaryHeap::new(), waiting: HashMap::new(), enqueued: 0 };
        if !entries.is_empty() {
            walk.visit(commit, state, (0..entries.len()).collect())?;
        }
        let mut last = LastCommits::default();
        while let Some(next) = walk.queue.pop() {
            if Instant::now() >= deadline {
                return Ok(last);
            }
            let Some((state, mut indexes)) = walk.waiting.remove(&next.id) else { continue };
            for parent in next.parents {
                // A commit can have very many parents.
                if Instant::now() >= deadline {
                    return Ok(last);
                }
                let Some(parent_state) = self.directory_state(parent, directory)? else { return Ok(last) };
                let unchanged = if parent_state == state {
                    std::mem::take(&mut indexes)
                } else {
                    let Some(in_parent) = self.state_entries(parent_state)? else { return Ok(last) };
                    let in_parent: HashMap<&[u8], &TreeEntry> =
                        in_parent.iter().map(|entry| (entry.path.as_slice(), entry)).collect();
                    let is_unchanged = |index: &usize| {
                        entries.get(*index).is_some_and(|it| in_parent.get(it.path.as_slice()) == Some(&it))
                    };
                    let (unchanged, changed) = indexes.into_iter().partition(is_unchanged);
                    indexes = changed;
                    unchanged
                };
                if !unchanged.is_empty() {
                    walk.visit(parent, parent_state, unchanged)?;
                }
                if indexes.is_empty() {
                    break;
                }
            }
            let changed = indexes.into_iter().filter_map(|index| entries.get(index));
            last.found.extend(changed.map(|entry| (entry.path.clone(), next.id)));
        }
        last.is_complete = true;
        Ok(last)
    }

    /// Returns the directory at a path of a commit. Returns None if this is not known, because a directory above it is
    /// too large to be read at once.
    fn directory_state(&self, commit: ObjectId, path: &[u8]) -> Result<Option<DirectoryState>> {
        Ok(match self.find_entry(self.commit_tree_id(commit)?, path)? {
            TreeLookup::Done(Some(entry)) if entry.kind() == EntryKind::Directory => {
                Some(DirectoryState::Exists(entry.id))
            }
            TreeLookup::Done(_) => Some(DirectoryState::Missing),
            TreeLookup::TooLarge { .. } => None,
        })
    }

    fn state_entries(&self, state: DirectoryState) -> Result<Option<Vec<TreeEntry>>> {
        match state {
            DirectoryState::Missing => Ok(Some(Vec::new())),
            DirectoryState::Exists(id) => self.tree(id),
        }
    }
}

/// A directory at a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectoryState {
    Missing,
    Exists(ObjectId),
}

struct Walk<'a> {
    reader: &'a Reader,
    queue: BinaryHeap<QueuedCommit>,
    /// The queued commits, with their directory and the entries that are the same in them as at the beginning.
    waiting: HashMap<ObjectId, (DirectoryState, Vec<usize>)>,
    /// Number of commits queued so far.
    enqueued: usize,
}

/// A commit in the queue. The newest is first, so that a commit is usually reached after all of its children.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct QueuedCommit {
    seconds: i64,
    sequence: Reverse<usize>,
    id: ObjectId,
    parents: Vec<ObjectId>,
}

impl Walk<'_> {
    /// Queues a commit with entries, or adds the entries to the queued commit.
    fn visit(&mut self, id: ObjectId, state: DirectoryState, indexes: Vec<usize>) -> Result<()> {
        if let Some((_, waiting)) = self.waiting.get_mut(&id) {
            waiting.extend(indexes);
            return Ok(());
        }
        let (seconds, parents) = self.reader.time_and_parents(id)?;
        self.waiting.insert(id, (state, indexes));
        self.enqueued += 1;
        self.queue.push(QueuedCommit { seconds, sequence: Reverse(self.enqueued), id, parents });
        Ok(())
    }
}

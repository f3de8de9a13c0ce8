//! Reads trees that are small enough to be held in memory; larger ones are read with [`crate::ls_tree`].

use std::collections::{HashSet, VecDeque};

use gix::ObjectId;
use gix::object::tree::EntryMode;
use gix::objs::TreeRefIter;

use super::{Reader, unreadable};
use crate::{Error, Result, SHA1};

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The name, or the path below the listed directory.
    pub path: Vec<u8>,
    pub mode: u16,
    pub id: ObjectId,
}

/// The kind of a tree entry, in the order in which entries are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    Directory,
    /// A file or a symbolic link.
    File,
    Submodule,
}

impl TreeEntry {
    pub fn kind(&self) -> EntryKind {
        match self.mode {
            0o040000 => EntryKind::Directory,
            0o160000 => EntryKind::Submodule,
            _ => EntryKind::File,
        }
    }

    /// Returns whether the file is a symbolic link, whose content is the path of another file.
    pub fn is_symbolic_link(&self) -> bool {
        self.mode == 0o120000
    }
}

/// The result of a lookup in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeLookup {
    Done(Option<TreeEntry>),
    /// The lookup stopped at a directory that is too large to be read at once; the names in `rest` have not been
    /// resolved.
    TooLarge {
        tree: ObjectId,
        rest: VecDeque<Vec<u8>>,
    },
}

/// Maximum size of a tree object that is read into memory. Git streams larger ones.
const MAX_TREE_BYTES: u64 = 1 << 20;

impl Reader {
    /// Returns the entries of a directory in git's order, or None if it is too large to be read at once.
    pub fn tree(&self, id: ObjectId) -> Result<Option<Vec<TreeEntry>>> {
        let (_, size) = self.header(id)?.ok_or_else(|| Error::Missing(id.to_string()))?;
        if size > MAX_TREE_BYTES {
            return Ok(None);
        }
        let tree = self.0.find_tree(id).map_err(unreadable(id))?;
        let entries = TreeRefIter::from_bytes(&tree.data, SHA1).map(|entry| {
            let entry = entry.map_err(|_| Error::Object(id.to_string()))?;
            Ok(TreeEntry { path: entry.filename.to_vec(), mode: canonical_mode(entry.mode), id: entry.oid.to_owned() })
        });
        entries.collect::<Result<_>>().map(Some)
    }

    /// Returns the ids of all files below a directory, sorted and without duplicates. Returns None if there are more
    /// than `max_entries` entries or a directory is too large.
    pub fn list_file_ids(&self, tree: ObjectId, max_entries: usize) -> Result<Option<Vec<ObjectId>>> {
        let (mut files, mut directories) = (HashSet::new(), HashSet::from([tree]));
        let (mut pending, mut count) = (vec![tree], 0);
        while let Some(directory) = pending.pop() {
            let Some(entries) = self.tree(directory)? else { return Ok(None) };
            count += entries.len();
            if count > max_entries {
                return Ok(None);
            }
            for entry in entries {
                match entry.kind() {
                    EntryKind::File => _ = files.insert(entry.id),
                    EntryKind::Directory if directories.insert(entry.id) => pending.push(entry.id),
                    _ => {}
                }
            }
        }
        let mut files: Vec<ObjectId> = files.into_iter().collect();
        files.sort_unstable();
        Ok(Some(files))
    }

    /// Finds the entry at a path below a directory. An empty path is the directory itself.
    pub fn find_entry(&self, mut tree: ObjectId, path: &[u8]) -> Result<TreeLookup> {
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let Some(entries) = self.tree(tree)? else {
                let rest = std::iter::once(name).chain(names).map(<[u8]>::to_vec).collect();
                return Ok(TreeLookup::TooLarge { tree, rest });
            };
            let found = entries.into_iter().find(|entry| entry.path == name);
            match found {
                Some(entry) if names.peek().is_none() => return Ok(TreeLookup::Done(Some(entry))),
                Some(entry) if entry.kind() == EntryKind::Directory => tree = entry.id,
                _ => return Ok(TreeLookup::Done(None)),
            }
        }
        Ok(TreeLookup::Done(Some(TreeEntry { path: Vec::new(), mode: 0o040000, id: tree })))
    }
}

/// Returns the mode as git shows it. Old programs wrote files with other permission bits.
fn canonical_mode(mode: EntryMode) -> u16 {
    mode.kind() as u16
}

use std::collections::{HashSet, VecDeque};

use gix::ObjectId;
use gix::object::tree::EntryMode;
use gix::objs::TreeRefIter;

use super::{Reader, unreadable};
use crate::{Error, Result, SHA1};

/// A line of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, or where it is below the directory that was listed.
    pub path: Vec<u8>,
    pub mode: u16,
    pub id: ObjectId,
}

/// In the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    Directory,
    /// Or a symbolic link.
    File,
    Submodule,
}

impl Entry {
    pub fn kind(&self) -> EntryKind {
        match self.mode {
            0o040000 => EntryKind::Directory,
            0o160000 => EntryKind::Submodule,
            _ => EntryKind::File,
        }
    }
}

/// How far a search came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    Done(Option<Entry>),
    /// It ended at a directory that is too large to be read at once; these names are still to be found.
    Large {
        tree: ObjectId,
        rest: VecDeque<Vec<u8>>,
    },
}

/// Larger directories are listed by git itself, one entry after the other.
const LARGEST_TREE: u64 = 1 << 20;

impl Reader {
    /// A directory, as git orders it; None if it is too large to be read at once.
    pub fn tree(&self, id: ObjectId) -> Result<Option<Vec<Entry>>> {
        let (_, size) = self.header(id)?.ok_or_else(|| Error::Missing(id.to_string()))?;
        if size > LARGEST_TREE {
            return Ok(None);
        }
        let tree = self.0.find_tree(id).map_err(unreadable(id))?;
        let entries = TreeRefIter::from_bytes(&tree.data, SHA1).map(|entry| {
            let entry = entry.map_err(|_| Error::Object(id.to_string()))?;
            Ok(Entry { path: entry.filename.to_vec(), mode: plain(entry.mode), id: entry.oid.to_owned() })
        });
        entries.collect::<Result<_>>().map(Some)
    }

    /// The ids of all files below a directory, in order. None if there are more than so many entries, or too large ones.
    pub fn files_below(&self, tree: ObjectId, at_most: usize) -> Result<Option<Vec<ObjectId>>> {
        let (mut files, mut directories) = (HashSet::new(), HashSet::from([tree]));
        let (mut ahead, mut count) = (vec![tree], 0);
        while let Some(directory) = ahead.pop() {
            let Some(entries) = self.tree(directory)? else { return Ok(None) };
            count += entries.len();
            if count > at_most {
                return Ok(None);
            }
            for entry in entries {
                match entry.kind() {
                    EntryKind::File => _ = files.insert(entry.id),
                    EntryKind::Directory if directories.insert(entry.id) => ahead.push(entry.id),
                    _ => {}
                }
            }
        }
        let mut files: Vec<ObjectId> = files.into_iter().collect();
        files.sort_unstable();
        Ok(Some(files))
    }

    /// What lies at a path below a directory.
    pub fn find(&self, mut tree: ObjectId, path: &[u8]) -> Result<Search> {
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let Some(entries) = self.tree(tree)? else {
                let rest = std::iter::once(name).chain(names).map(<[u8]>::to_vec).collect();
                return Ok(Search::Large { tree, rest });
            };
            let found = entries.into_iter().find(|entry| entry.path == name);
            match found {
                Some(entry) if names.peek().is_none() => return Ok(Search::Done(Some(entry))),
                Some(entry) if entry.kind() == EntryKind::Directory => tree = entry.id,
                _ => return Ok(Search::Done(None)),
            }
        }
        Ok(Search::Done(Some(Entry { path: Vec::new(), mode: 0o040000, id: tree })))
    }
}

/// Old programs wrote files with other bits, which git shows as one of the usual modes.
fn plain(mode: EntryMode) -> u16 {
    mode.kind() as u16
}

//! Changes files of a tree without a work tree.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind as RawKind;

use crate::reader::{EntryKind, Reader, TreeEntry};
use crate::{Error, Result, SHA1, TreePath};

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEdit {
    Create {
        path: TreePath,
        content: Vec<u8>,
    },
    /// Changes the content of a file and keeps its mode.
    Update {
        path: TreePath,
        content: Vec<u8>,
    },
    Delete {
        path: TreePath,
    },
    /// Moves a file, with its mode and, unless there is a new one, with its content.
    Move {
        from: TreePath,
        to: TreePath,
        content: Option<Vec<u8>>,
    },
}

impl TreeEdit {
    /// Returns the path of the file that must exist.
    pub const fn existing_path(&self) -> Option<&TreePath> {
        match self {
            Self::Create { .. } => None,
            Self::Update { path, .. } | Self::Delete { path } | Self::Move { from: path, .. } => Some(path),
        }
    }
}

/// The reason why a tree cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditConflict {
    /// The path of a new file is taken.
    Exists(TreePath),
    /// There is no file with this path.
    Missing(TreePath),
    /// A part of the path is the name of a file.
    BelowFile(TreePath),
    /// A directory on the path is larger than [`MAX_TREE_BYTES`].
    DirectoryTooLarge(TreePath),
}

/// Maximum size of a tree object that is changed. A directory of 100,000 files has about this size.
const MAX_TREE_BYTES: u64 = 4 << 20;

/// A changed tree, and the files before the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedTree {
    pub id: ObjectId,
    /// The ids of the existing files that the edits change, in their order. They come from the tree before all edits; a
    /// file that an earlier edit created has none.
    pub replaced: Vec<Option<ObjectId>>,
}

type EditResult<T> = Result<std::result::Result<T, EditConflict>>;

/// Applies changes to a tree, one after the other. The objects are written into the repository of the reader, which must
/// be a quarantine.
pub fn apply(quarantine: &Reader, tree: ObjectId, edits: &[TreeEdit]) -> EditResult<EditedTree> {
    let mut editor = TreeEditor { quarantine, tree, files: BTreeMap::new() };
    let mut replaced = Vec::new();
    for edit in edits {
        if let Some(path) = edit.existing_path() {
            replaced.push(match find(quarantine, tree, path)? {
                PathLookup::Entry(entry) => Some(entry.id),
                _ => None,
            });
        }
        if let Err(conflict) = editor.apply(edit)? {
            return Ok(Err(conflict));
        }
    }
    Ok(Ok(EditedTree { id: editor.write()?, replaced }))
}

/// A tree with changes that have not been written.
struct TreeEditor<'a> {
    quarantine: &'a Reader,
    tree: ObjectId,
    /// The changed files by path, or None for those that were removed.
    files: BTreeMap<String, Option<ChangedFile>>,
}

#[derive(Clone, Copy)]
struct ChangedFile {
    kind: RawKind,
    id: ObjectId,
}

impl TreeEditor<'_> {
    fn apply(&mut self, edit: &TreeEdit) -> EditResult<()> {
        let (removed, (path, file)) = match edit {
            TreeEdit::Create { path, content } => {
                if let Err(conflict) = self.check_new(path)? {
                    return Ok(Err(conflict));
                }
                (None, (path, Some(ChangedFile { kind: RawKind::Blob, id: self.write_blob(content)? })))
            }
            TreeEdit::Update { path, content } => match self.find_file(path)? {
                Ok(file) => (None, (path, Some(ChangedFile { id: self.write_blob(content)?, ..file }))),
                Err(conflict) => return Ok(Err(conflict)),
            },
            TreeEdit::Delete { path } => match self.find_file(path)? {
                Ok(_) => (None, (path, None)),
                Err(conflict) => return Ok(Err(conflict)),
            },
            TreeEdit::Move { from, to, content } => {
                let file = match self.find_file(from)? {
                    Ok(file) => file,
                    Err(conflict) => return Ok(Err(conflict)),
                };
                let before = self.files.insert(from.as_str().to_owned(), None);
                if let Err(conflict) = self.check_new(to)? {
                    match before {
                        Some(before) => _ = self.files.insert(from.as_str().to_owned(), before),
                        None => _ = self.files.remove(from.as_str()),
                    }
                    return Ok(Err(conflict));
                }
                let id = content.as_deref().map_or(Ok(file.id), |content| self.write_blob(content))?;
                (Some(from), (to, Some(ChangedFile { id, ..file })))
            }
        };
        if let Some(path) = removed {
            self.files.insert(path.as_str().to_owned(), None);
        }
        self.files.insert(path.as_str().to_owned(), file);
        Ok(Ok(()))
    }

    fn write_blob(&self, content: &[u8]) -> Result<ObjectId> {
        let written = self.quarantine.0.write_blob(content).map_err(|error| Error::Object(error.to_string()))?;
        Ok(written.detach())
    }

    /// Returns the file with this path, which may be a symbolic link.
    fn find_file(&self, path: &TreePath) -> EditResult<ChangedFile> {
        let missing = || EditConflict::Missing(path.clone());
        if let Some(changed) = self.files.get(path.as_str()) {
            return Ok(changed.ok_or_else(missing));
        }
        Ok(match find(self.quarantine, self.tree, path)? {
            PathLookup::Entry(entry) if entry.kind() == EntryKind::File => {
                Ok(ChangedFile { kind: file_kind(&entry), id: entry.id })
            }
            PathLookup::TooLarge => Err(EditConflict::DirectoryTooLarge(path.clone())),
            _ => Err(missing()),
        })
    }

    /// Checks that a new file can have this path. A directory stays taken in the commit that removes its last file.
    fn check_new(&self, path: &TreePath) -> EditResult<()> {
        let text = path.as_str();
        let directory = format!("{text}/");
        let mut below = self.files.range(directory.clone()..).take_while(|(name, _)| name.starts_with(&directory));
        let is_changed = |name: &str| self.files.get(name).is_some_and(Option::is_some);
        if is_changed(text) || below.any(|(_, file)| file.is_some()) {
            return Ok(Err(EditConflict::Exists(path.clone())));
        }
        let mut parents = text.match_indices('/').map(|(end, _)| &text[..end]);
        if parents.any(is_changed) {
            return Ok(Err(EditConflict::BelowFile(path.clone())));
        }
        Ok(match find(self.quarantine, self.tree, path)? {
            PathLookup::Free => Ok(()),
            PathLookup::Entry(_) if self.files.contains_key(text) => Ok(()),
            PathLookup::BelowFile(end) if self.files.contains_key(&text[..end]) => Ok(()),
            PathLookup::Entry(_) => Err(EditConflict::Exists(path.clone())),
            PathLookup::BelowFile(_) => Err(EditConflict::BelowFile(path.clone())),
            PathLookup::TooLarge => Err(EditConflict::DirectoryTooLarge(path.clone())),
        })
    }

    /// Writes the changed directories and returns the id of the tree.
    fn write(&self) -> Result<ObjectId> {
        let failed = |error: gix::Error| Error::Object(error.to_string());
        let mut editor = self.quarantine.0.edit_tree(self.tree).map_err(failed)?;
        // A file can take the place of a directory, and the other way round, so the removed ones come first.
        for (path, _) in self.files.iter().filter(|(_, file)| file.is_none()) {
            editor.remove(path.as_str()).map_err(failed)?;
        }
        for (path, file) in &self.files {
            if let Some(ChangedFile { kind, id }) = file {
                editor.upsert(path.as_str(), *kind, *id).map_err(failed)?;
            }
        }
        Ok(editor.write().map_err(failed)?.detach())
    }
}

/// Returns the kind of a file, which it keeps when it is changed.
fn file_kind(file: &TreeEntry) -> RawKind {
    match file.mode {
        0o100755 => RawKind::BlobExecutable,
        0o120000 => RawKind::Link,
        _ => RawKind::Blob,
    }
}

/// What a tree has at a path.
enum PathLookup {
    Entry(TreeEntry),
    /// Nothing, because the beginning of the path, up to this position, is no directory.
    BelowFile(usize),
    /// A directory on the path is too large.
    TooLarge,
    Free,
}

fn find(quarantine: &Reader, mut tree: ObjectId, path: &TreePath) -> Result<PathLookup> {
    let text = path.as_str();
    let ends = text.match_indices('/').map(|(end, _)| end).chain([text.len()]);
    let mut start = 0;
    for end in ends {
        let name = &text[start..end];
        let size = quarantine.header(tree)?.map_or(0, |(_, size)| size);
        if size > MAX_TREE_BYTES {
            return Ok(PathLookup::TooLarge);
        }
        let object = quarantine.0.find_tree(tree).map_err(|error| Error::Object(error.to_string()))?;
        let found = TreeRefIter::from_bytes(&object.data, SHA1).find(|entry| match entry {
            Ok(entry) => entry.filename == name,
            Err(_) => true,
        });
        let Some(entry) = found.transpose().map_err(|_| Error::Object(tree.to_string()))? else { break };
        if end == text.len() {
            let (path, mode) = (entry.filename.to_vec(), entry.mode.kind() as u16);
            return Ok(PathLookup::Entry(TreeEntry { path, mode, id: entry.oid.to_owned() }));
        }
        if !entry.mode.is_tree() {
            return Ok(PathLookup::BelowFile(end));
        }
        tree = entry.oid.to_owned();
        start = end + 1;
    }
    Ok(PathLookup::Free)
}

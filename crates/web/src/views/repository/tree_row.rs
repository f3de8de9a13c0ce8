//! An entry of a directory as one row.

use holdfast_app::repository::browse::tree::{EntryKind, TreeEntry};

use crate::icons::{self, Icon};
use crate::views::ProjectLinks;

#[derive(Clone, Debug)]
pub struct TreeRow {
    pub name: String,
    /// None for a submodule, which is in another repository, and for a name that is not UTF-8, which no address can hold.
    pub url: Option<String>,
    pub icon: Icon,
    pub is_directory: bool,
}

/// The mode of a symbolic link.
const SYMLINK_MODE: u16 = 0o120_000;

/// Builds the rows of a directory.
pub fn rows(entries: &[TreeEntry], links: &ProjectLinks, revision: &str) -> Vec<TreeRow> {
    entries.iter().map(|entry| row(entry, links, revision)).collect()
}

fn row(entry: &TreeEntry, links: &ProjectLinks, revision: &str) -> TreeRow {
    let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let path = std::str::from_utf8(&entry.path).ok();
    let (icon, url) = match entry.kind() {
        EntryKind::Directory => (icons::FOLDER, path.map(|path| links.tree(revision, path))),
        EntryKind::File if entry.mode == SYMLINK_MODE => {
            (icons::SYMLINK.named("Symbolic link"), path.map(|path| links.blob(revision, path)))
        }
        EntryKind::File => (icons::FILE, path.map(|path| links.blob(revision, path))),
        EntryKind::Submodule => (icons::SUBMODULE.named("Submodule"), None),
    };
    TreeRow {
        name: String::from_utf8_lossy(name).into_owned(),
        url,
        icon,
        is_directory: entry.kind() == EntryKind::Directory,
    }
}

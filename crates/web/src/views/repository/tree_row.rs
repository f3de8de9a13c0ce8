//! An entry of a directory as one row.

use chrono::{DateTime, Utc};
use holdfast_app::repository::browse::last_commit::LastCommits;
use holdfast_app::repository::browse::tree::{EntryKind, TreeEntry};

use super::commit_line::CommitLine;
use crate::icons::{self, Icon};
use crate::views::ProjectLinks;

#[derive(Clone, Debug)]
pub struct TreeRow {
    pub name: String,
    /// None for a submodule, which is in another repository, and for a name that is not UTF-8, which no address can hold.
    pub url: Option<String>,
    pub icon: Icon,
    pub is_directory: bool,
    /// The commit that last changed the entry, if it is known.
    pub last_commit: Option<CommitLine>,
}

/// The mode of a symbolic link.
const SYMLINK_MODE: u16 = 0o120_000;

/// Builds the rows of a directory. The times of last commits are their ages.
pub fn rows(
    entries: &[TreeEntry],
    last_commits: &LastCommits,
    links: &ProjectLinks,
    revision: &str,
    now: DateTime<Utc>,
) -> Vec<TreeRow> {
    let with_commit = |entry: &TreeEntry| {
        let commit = last_commits.find(&entry.path).map(|commit| CommitLine::with_age(commit, links, now));
        row(entry, commit, links, revision)
    };
    entries.iter().map(with_commit).collect()
}

fn row(entry: &TreeEntry, last_commit: Option<CommitLine>, links: &ProjectLinks, revision: &str) -> TreeRow {
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
        last_commit,
    }
}

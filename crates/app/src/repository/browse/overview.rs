//! The first view of a repository: the tip of the default branch, the entries of its root directory, and its README.

use std::sync::Arc;

use bytes::Bytes;
use holdfast_domain::page::{MAX_PAGE_SIZE, PageRequest};
use holdfast_git::reader::{EntryKind, TreeEntry};

use super::commit::Commit;
use super::last_commit::{self, LastCommits, SearchTime};
use super::{blob, tree};
use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::repository::refs::ref_address::DefaultBranch;
use crate::{App, Result};

/// Maximum number of entries of the root directory that are shown. Arbitrary; a page of the whole directory has all.
const MAX_ENTRIES: usize = 1000;

/// Maximum size of a README that is shown. Larger ones are linked.
const MAX_README_BYTES: u64 = 512 << 10;

/// The tip of the default branch, and its root directory.
#[derive(Clone, Debug)]
pub struct RepositoryOverview {
    pub default_branch: DefaultBranch,
    /// The last commit of the default branch, shortened as in a list.
    pub commit: Commit,
    /// The entries of the root directory: directories, then files, then submodules, each in git's order.
    pub entries: Vec<TreeEntry>,
    /// Whether the directory has more entries than `entries`.
    pub has_more_entries: bool,
    pub readme: Option<Readme>,
    /// The last commits of the entries, as far as they were found in a short time.
    pub last_commits: Arc<LastCommits>,
}

/// The README of a directory.
#[derive(Clone, Debug)]
pub struct Readme {
    /// The path of the file. It need not be valid UTF-8.
    pub path: Vec<u8>,
    pub bytes: u64,
    /// None if the file is too large to be shown.
    pub content: Option<Bytes>,
}

/// Reads the first view of a repository. Returns None if the default branch does not exist.
pub(crate) async fn load(app: &App, repository: &OpenRepository) -> Result<Option<RepositoryOverview>> {
    let Some(tip) = repository.refs.head_target() else { return Ok(None) };
    let Some(default_branch) = DefaultBranch::find(&repository.refs) else { return Ok(None) };
    let read = objects::read(app, repository, move |reader| {
        let mut commit = Commit::from(reader.commit(tip)?);
        commit.abridge();
        let tree_id = reader.commit_tree_id(tip)?;
        Ok((commit, tree_id, reader.tree(tree_id)?))
    });
    let (commit, tree_id, entries) = read.await?;
    let (entries, has_more_entries) = match entries {
        Some(entries) => first_entries(entries),
        None => {
            let page = PageRequest::new(None, Some(MAX_PAGE_SIZE));
            let found = tree::list_large(app, repository, tree_id, false, page).await?;
            (found.items, found.has_next)
        }
    };
    let readme = load_readme(app, repository, &entries).await?;
    let last_commits = last_commit::load_for_directory(app, repository, tip, "", SearchTime::Short).await?;
    Ok(Some(RepositoryOverview { default_branch, commit, entries, has_more_entries, readme, last_commits }))
}

/// Reads the README among the entries of a directory.
pub(super) async fn load_readme(
    app: &App,
    repository: &OpenRepository,
    entries: &[TreeEntry],
) -> Result<Option<Readme>> {
    let Some(file) = find_readme(entries) else { return Ok(None) };
    let (bytes, content) = blob::read_buffered(app, repository, file.id, MAX_README_BYTES).await?;
    Ok(Some(Readme { path: file.path.clone(), bytes, content }))
}

/// Returns the entries in the order of a list, at most [`MAX_ENTRIES`], and whether there are more.
fn first_entries(mut entries: Vec<TreeEntry>) -> (Vec<TreeEntry>, bool) {
    entries.sort_by_key(TreeEntry::kind);
    let has_more = entries.len() > MAX_ENTRIES;
    entries.truncate(MAX_ENTRIES);
    (entries, has_more)
}

/// The names of a README in lower case, the preferred one first.
const README_NAMES: [&[u8]; 6] =
    [b"readme.md", b"readme.markdown", b"readme.rst", b"readme.adoc", b"readme.txt", b"readme"];

/// Returns the README among the entries of a directory. Symbolic links are not followed.
fn find_readme(entries: &[TreeEntry]) -> Option<&TreeEntry> {
    let files = || entries.iter().filter(|it| it.kind() == EntryKind::File && !it.is_symbolic_link());
    let file_name = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_ascii_lowercase();
    README_NAMES.iter().find_map(|name| files().find(|it| file_name(&it.path) == **name))
}

#[cfg(test)]
mod tests {
    use holdfast_git::ObjectId;

    use super::*;

    fn entry(path: &str, mode: u16) -> TreeEntry {
        TreeEntry { path: path.into(), mode, id: ObjectId::null(holdfast_git::SHA1) }
    }

    #[test]
    fn the_preferred_readme_is_a_regular_file_in_markdown() {
        let entries = [
            entry("README", 0o100644),
            entry("Readme.MD", 0o100644),
            entry("readme.markdown", 0o040000),
            entry("src", 0o040000),
        ];
        assert_eq!(find_readme(&entries).map(|it| it.path.as_slice()), Some(&b"Readme.MD"[..]));
        assert_eq!(find_readme(&entries[2..]), None);
        assert!(find_readme(&[entry("docs/README.txt", 0o100644)]).is_some());
        assert_eq!(find_readme(&[entry("README.md", 0o120000)]), None);
    }

    #[test]
    fn directories_come_first_and_long_directories_are_cut() {
        let files = (0..MAX_ENTRIES).map(|number| entry(&format!("file{number:04}"), 0o100644));
        let (entries, has_more) = first_entries(files.chain([entry("src", 0o040000)]).collect());
        assert_eq!((entries[0].path.as_slice(), entries.len(), has_more), (&b"src"[..], MAX_ENTRIES, true));
    }
}

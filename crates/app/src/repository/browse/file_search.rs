//! Finds files of a revision by parts of their paths.

use holdfast_domain::policy::ProjectAction;
use holdfast_git::ls_tree::TreeListing;
use holdfast_git::reader::{EntryKind, TreeEntry};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::revision;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::objects;
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result};

/// Maximum number of entries that a search examines. Git lists this many in less than half a second.
pub const MAX_EXAMINED: usize = 100_000;
/// Maximum number of files that a search returns.
pub const MAX_FOUND: usize = 200;
/// Maximum number of characters of a filter; the rest is ignored. Arbitrary.
const MAX_FILTER_CHARS: usize = 200;
/// Maximum number of different words of a filter; further ones are ignored. Every path is compared with every word.
const MAX_WORDS: usize = 10;

/// The files of a revision whose paths match a filter.
#[derive(Debug)]
pub struct FileSearch {
    pub project: Project,
    /// The revision as the address names it.
    pub revision: String,
    /// The text that names the revision in the addresses of files.
    pub address: String,
    /// The first files that match, in git's order, with their whole paths.
    pub files: Vec<TreeEntry>,
    /// Whether more than [`MAX_FOUND`] files match.
    pub has_more: bool,
    /// Whether the revision has more than [`MAX_EXAMINED`] entries, so that files may be missing.
    pub is_incomplete: bool,
}

/// Finds the files of a revision whose paths contain all words of `filter`, in any case. Without words, every file
/// matches. The end of a long filter is ignored.
#[crate::boxed]
pub async fn find(app: &App, actor: &Actor, project: &ProjectRef, revision: &str, filter: &str) -> Result<FileSearch> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let revision = revision.trim_matches('/');
    let commit = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let tree = objects::read(app, &repository, move |reader| Ok(reader.commit_tree_id(commit)?)).await?;
    let words = PathFilter::new(filter);
    let (mut files, mut has_more, mut is_incomplete, mut examined) = (Vec::new(), false, false, 0);
    let slot = FetchSlot::acquire(app, &repository).await?;
    let mut listing = TreeListing::start(&app.git_runtime.git, &slot.cached_repository.bare, tree, true)?;
    while let Some(entry) = listing.next().await? {
        examined += 1;
        if examined > MAX_EXAMINED {
            is_incomplete = true;
            break;
        }
        if entry.kind() != EntryKind::File || !words.matches(&entry.path) {
            continue;
        }
        if files.len() == MAX_FOUND {
            has_more = true;
            break;
        }
        files.push(entry);
    }
    let address = revision::address(&repository, revision, commit);
    let (project, revision) = (repository.project, revision.to_owned());
    Ok(FileSearch { project, revision, address, files, has_more, is_incomplete })
}

/// The different words of a filter in lower case.
struct PathFilter(Vec<String>);

impl PathFilter {
    fn new(filter: &str) -> Self {
        let filter: String = filter.chars().take(MAX_FILTER_CHARS).collect();
        let mut words: Vec<String> = Vec::new();
        for word in filter.split_whitespace().map(str::to_lowercase) {
            if words.len() < MAX_WORDS && !words.contains(&word) {
                words.push(word);
            }
        }
        Self(words)
    }

    fn matches(&self, path: &[u8]) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let path = String::from_utf8_lossy(path).to_lowercase();
        self.0.iter().all(|word| path.contains(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_if_it_contains_all_words_in_any_case() {
        let matches = |filter: &str, path: &str| PathFilter::new(filter).matches(path.as_bytes());
        assert!(matches("", "a") && matches("READ md", "docs/readme.md") && matches("ÄB", "x/äb"));
        assert!(!matches("readme txt", "docs/readme.md"));
    }

    #[test]
    fn a_filter_has_a_limited_number_of_words() {
        assert_eq!(PathFilter::new("a A b a").0, ["a", "b"]);
        let words: Vec<String> = (100..200).map(|number| number.to_string()).collect();
        assert_eq!(PathFilter::new(&words.join(" ")).0, words[..MAX_WORDS]);
        assert_eq!(PathFilter::new(&"ä".repeat(MAX_FILTER_CHARS + 1)).0, ["ä".repeat(MAX_FILTER_CHARS)]);
    }
}

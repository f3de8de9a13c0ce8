//! Lists directories, and finds entries by path.

use std::sync::Arc;

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::ls_tree::TreeListing;
use holdfast_git::reader::TreeLookup;
pub use holdfast_git::reader::{EntryKind, TreeEntry};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::commit::{self, Commit};
use super::last_commit::{self, LastCommits, SearchTime};
use super::overview::{self, Readme};
use super::revision;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::ref_address::DefaultBranch;
use crate::{Actor, App, Error, Resource, Result};

#[derive(Clone, Debug)]
pub struct ListTree {
    pub path: String,
    /// The revision to list; the default branch if `None`.
    pub revision: Option<String>,
    /// Whether the entries of all subdirectories are included.
    pub is_recursive: bool,
}

/// Lists the entries of a directory: directories, then files, then submodules, each in git's order. The list is empty
/// if there is no such directory.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListTree,
    page: PageRequest,
) -> Result<Page<TreeEntry>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve_or_head(app, &repository, input.revision.as_deref()).await?;
    let commit = commit.ok_or(Error::NotFound(Resource::Tree))?;
    let found = list_directory(app, &repository, commit, &input.path, input.is_recursive, page).await?;
    Ok(found.unwrap_or_else(|| Page::with_total(Vec::new(), page, 0)))
}

/// A part of a directory.
#[derive(Debug)]
pub struct ListedTree {
    pub entries: Page<TreeEntry>,
    /// The commit whose directory was listed.
    pub commit: ObjectId,
}

/// Like [`list`], but fails if there is no such directory.
#[crate::boxed]
pub async fn list_existing(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListTree,
    page: PageRequest,
) -> Result<ListedTree> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve_or_head(app, &repository, input.revision.as_deref()).await?;
    let commit = commit.ok_or(Error::NotFound(Resource::Tree))?;
    let found = list_directory(app, &repository, commit, &input.path, input.is_recursive, page).await?;
    let entries = found.ok_or(Error::NotFound(Resource::Literal("404 invalid revision or path Not Found")))?;
    Ok(ListedTree { entries, commit })
}

/// A directory at a revision, with what its page shows.
#[derive(Debug)]
pub struct Directory {
    pub project: Project,
    /// The revision as the address names it.
    pub revision: String,
    /// Whether the revision is a branch.
    pub is_branch: bool,
    /// The path of the directory, which is empty for the root.
    pub path: String,
    /// The commit of the revision, shortened as in a list.
    pub commit: Commit,
    pub entries: Page<TreeEntry>,
    /// The last commits of the entries, as far as they were found in time.
    pub last_commits: Arc<LastCommits>,
    /// The README among the entries.
    pub readme: Option<Readme>,
    pub default_branch: Option<DefaultBranch>,
}

/// Returns the directory that the end of a page's address names, such as `main/src`. `time` limits the search for last
/// commits.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: &str,
    page: PageRequest,
    time: SearchTime,
) -> Result<Directory> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let (revision, path) = revision::split_address(&*repository.refs, address);
    let id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let entries = list_directory(app, &repository, id, path, false, page).await?;
    let entries = entries.ok_or(Error::NotFound(Resource::Tree))?;
    let commit = commit::load_one_listed(app, &repository, id).await?;
    let last_commits = last_commit::load_for_directory(app, &repository, id, path, time).await?;
    let readme = overview::load_readme(app, &repository, &entries.items).await?;
    Ok(Directory {
        default_branch: DefaultBranch::find(&repository.refs),
        is_branch: revision::find_branch(&*repository.refs, revision).is_some(),
        revision: revision.to_owned(),
        path: path.to_owned(),
        project: repository.project,
        commit,
        entries,
        last_commits,
        readme,
    })
}

/// Lists the entries of a directory with their whole paths. Returns None if there is no such directory.
async fn list_directory(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    path: &str,
    is_recursive: bool,
    page: PageRequest,
) -> Result<Option<Page<TreeEntry>>> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let path: Arc<str> = names.join("/").into();
    let found = match read_directory(app, repository, commit, path.clone(), is_recursive).await? {
        DirectoryLookup::NotFound => return Ok(None),
        DirectoryLookup::Entries(entries) => paginate(entries, page),
        DirectoryLookup::TooLarge(id) => list_large(app, repository, id, is_recursive, page).await?,
    };
    let prepend_path = |mut entry: TreeEntry| {
        if !path.is_empty() {
            entry.path = [path.as_bytes(), b"/", &entry.path].concat();
        }
        entry
    };
    Ok(Some(found.map(prepend_path)))
}

enum DirectoryLookup {
    NotFound,
    Entries(Vec<TreeEntry>),
    /// The directory must be streamed, because it is large or listed recursively.
    TooLarge(ObjectId),
}

/// Finds and reads a directory. Nearly always this takes a single object read.
async fn read_directory(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    path: Arc<str>,
    is_recursive: bool,
) -> Result<DirectoryLookup> {
    let name = path.clone();
    let lookup = objects::read(app, repository, move |reader| {
        Ok(match reader.find_entry(reader.commit_tree_id(commit)?, name.as_bytes())? {
            TreeLookup::Done(Some(entry)) if entry.kind() == EntryKind::Directory && !is_recursive => {
                Some(reader.tree(entry.id)?.map_or(DirectoryLookup::TooLarge(entry.id), DirectoryLookup::Entries))
            }
            TreeLookup::Done(Some(entry)) if entry.kind() == EntryKind::Directory => {
                Some(DirectoryLookup::TooLarge(entry.id))
            }
            TreeLookup::Done(_) => Some(DirectoryLookup::NotFound),
            TreeLookup::TooLarge { .. } => None,
        })
    });
    if let Some(found) = lookup.await? {
        return Ok(found);
    }
    let directory = find(app, repository, commit, path).await?.filter(|entry| entry.kind() == EntryKind::Directory);
    Ok(directory.map_or(DirectoryLookup::NotFound, |entry| DirectoryLookup::TooLarge(entry.id)))
}

/// Returns the entry at a path of a commit.
pub(crate) async fn find(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    path: Arc<str>,
) -> Result<Option<TreeEntry>> {
    let search = objects::read(app, repository, move |reader| {
        Ok(reader.find_entry(reader.commit_tree_id(commit)?, path.as_bytes())?)
    });
    let mut search = search.await?;
    loop {
        let (tree, mut rest) = match search {
            TreeLookup::Done(found) => return Ok(found),
            TreeLookup::TooLarge { tree, rest } => (tree, rest),
        };
        let Some(name) = rest.pop_front() else { return Ok(None) };
        let entry = match find_in_large(app, repository, tree, &name).await? {
            Some(entry) if rest.is_empty() => return Ok(Some(entry)),
            Some(entry) if entry.kind() == EntryKind::Directory => entry,
            _ => return Ok(None),
        };
        let rest: Vec<u8> = Vec::from(rest).join(&b'/');
        search = objects::read(app, repository, move |reader| Ok(reader.find_entry(entry.id, &rest)?)).await?;
    }
}

async fn find_in_large(
    app: &App,
    repository: &OpenRepository,
    tree: ObjectId,
    name: &[u8],
) -> Result<Option<TreeEntry>> {
    let slot = FetchSlot::acquire(app, repository).await?;
    let mut listing = TreeListing::start(&app.git_runtime.git, &slot.cached_repository.bare, tree, false)?;
    while let Some(entry) = listing.next().await? {
        if entry.path == name {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn paginate(mut entries: Vec<TreeEntry>, page: PageRequest) -> Page<TreeEntry> {
    let total = entries.len();
    entries.sort_by_key(TreeEntry::kind);
    let range = page.range(total);
    let items = entries.into_iter().skip(range.start).take(range.len()).collect();
    Page::with_total(items, page, total)
}

/// Lists one page of a large directory. Streams all entries and keeps only those of the page. Counting the entries
/// first gives the position of the first file.
pub(super) async fn list_large(
    app: &App,
    repository: &OpenRepository,
    tree: ObjectId,
    is_recursive: bool,
    page: PageRequest,
) -> Result<Page<TreeEntry>> {
    let slot = FetchSlot::acquire(app, repository).await?;
    let start = || TreeListing::start(&app.git_runtime.git, &slot.cached_repository.bare, tree, is_recursive);
    let counts = match app.git_runtime.entry_counts.get(&(tree, is_recursive)) {
        Some(counts) => counts,
        None => {
            let (mut listing, mut counts) = (start()?, [0; 3]);
            while let Some(entry) = listing.next().await? {
                counts[entry.kind() as usize] += 1;
            }
            app.git_runtime.entry_counts.insert((tree, is_recursive), counts);
            counts
        }
    };
    let total = counts.iter().sum();
    let range = page.range(total);
    let mut next_positions = [0, counts[0], counts[0] + counts[1]];
    let mut items = Vec::new();
    if !range.is_empty() {
        let mut listing = start()?;
        while items.len() < range.len() {
            let Some(entry) = listing.next().await? else { break };
            let position = &mut next_positions[entry.kind() as usize];
            if range.contains(position) {
                items.push((*position, entry));
            }
            *position += 1;
        }
    }
    items.sort_by_key(|(position, _)| *position);
    Ok(Page::with_total(items.into_iter().map(|(_, entry)| entry).collect(), page, total))
}

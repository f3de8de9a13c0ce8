//! Directories.

use std::sync::Arc;

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::ls_tree::Listing;
use holdfast_git::reader::Search;
pub use holdfast_git::reader::{Entry, EntryKind};
use holdfast_store::projects::project::ProjectRef;

use super::fetch::{self, Opened};
use super::{objects, revision};
use crate::{Actor, App, Error, Result, Thing};

#[derive(Clone, Debug)]
pub struct ListTree {
    pub path: String,
    /// The default branch if there is none.
    pub revision: Option<String>,
    /// With all that is below.
    pub recursive: bool,
}

/// Directories, then files, then submodules; each in git's order. Empty where there is no such directory.
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: ListTree,
    page: PageRequest,
) -> Result<Page<Entry>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let at = revision::resolve_or_head(app, &opened, input.revision.as_deref()).await?;
    let at = at.ok_or(Error::NotFound(Thing::Tree))?;
    let names: Vec<&str> = input.path.split('/').filter(|name| !name.is_empty()).collect();
    let path: Arc<str> = names.join("/").into();
    let found = match look(app, &opened, at, path.clone(), input.recursive).await? {
        Found::Nothing => Page::of_total(Vec::new(), page, 0),
        Found::Entries(entries) => cut(entries, page),
        Found::Large(id) => walk(app, &opened, id, input.recursive, page).await?,
    };
    let below = |mut entry: Entry| {
        if !path.is_empty() {
            entry.path = [path.as_bytes(), b"/", &entry.path].concat();
        }
        entry
    };
    Ok(found.map(below))
}

enum Found {
    Nothing,
    Entries(Vec<Entry>),
    /// What is not read at once.
    Large(ObjectId),
}

/// Nearly every directory is found and read at one look.
async fn look(app: &App, opened: &Opened, at: ObjectId, path: Arc<str>, recursive: bool) -> Result<Found> {
    let name = path.clone();
    let looked = objects::read(app, opened, move |reader| {
        Ok(match reader.find(reader.tree_of(at)?, name.as_bytes())? {
            Search::Done(Some(entry)) if entry.kind() == EntryKind::Directory && !recursive => {
                Some(reader.tree(entry.id)?.map_or(Found::Large(entry.id), Found::Entries))
            }
            Search::Done(Some(entry)) if entry.kind() == EntryKind::Directory => Some(Found::Large(entry.id)),
            Search::Done(_) => Some(Found::Nothing),
            Search::Large { .. } => None,
        })
    });
    if let Some(found) = looked.await? {
        return Ok(found);
    }
    let directory = find(app, opened, at, path).await?.filter(|entry| entry.kind() == EntryKind::Directory);
    Ok(directory.map_or(Found::Nothing, |entry| Found::Large(entry.id)))
}

/// What lies at a path of a commit.
pub(super) async fn find(app: &App, opened: &Opened, at: ObjectId, path: Arc<str>) -> Result<Option<Entry>> {
    let search = objects::read(app, opened, move |reader| Ok(reader.find(reader.tree_of(at)?, path.as_bytes())?));
    let mut search = search.await?;
    loop {
        let (tree, mut rest) = match search {
            Search::Done(found) => return Ok(found),
            Search::Large { tree, rest } => (tree, rest),
        };
        let Some(name) = rest.pop_front() else { return Ok(None) };
        let entry = match find_in_large(app, opened, tree, &name).await? {
            Some(entry) if rest.is_empty() => return Ok(Some(entry)),
            Some(entry) if entry.kind() == EntryKind::Directory => entry,
            _ => return Ok(None),
        };
        let rest: Vec<u8> = Vec::from(rest).join(&b'/');
        search = objects::read(app, opened, move |reader| Ok(reader.find(entry.id, &rest)?)).await?;
    }
}

async fn find_in_large(app: &App, opened: &Opened, tree: ObjectId, name: &[u8]) -> Result<Option<Entry>> {
    let held = fetch::hold(app, opened).await?;
    let mut listing = Listing::start(&app.engine.git, &held.lease.bare, tree, false)?;
    while let Some(entry) = listing.next().await? {
        if entry.path == name {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn cut(mut entries: Vec<Entry>, page: PageRequest) -> Page<Entry> {
    let total = entries.len();
    entries.sort_by_key(Entry::kind);
    let range = page.range(total);
    let items = entries.into_iter().skip(range.start).take(range.len()).collect();
    Page::of_total(items, page, total)
}

/// Passes all entries and keeps those of the page alone. Where the files begin is known once the directories are counted.
async fn walk(app: &App, opened: &Opened, tree: ObjectId, recursive: bool, page: PageRequest) -> Result<Page<Entry>> {
    let held = fetch::hold(app, opened).await?;
    let start = || Listing::start(&app.engine.git, &held.lease.bare, tree, recursive);
    let counts = match app.engine.counts.get(&(tree, recursive)) {
        Some(counts) => counts,
        None => {
            let (mut listing, mut counts) = (start()?, [0; 3]);
            while let Some(entry) = listing.next().await? {
                counts[entry.kind() as usize] += 1;
            }
            app.engine.counts.insert((tree, recursive), counts);
            counts
        }
    };
    let total = counts.iter().sum();
    let range = page.range(total);
    let mut next = [0, counts[0], counts[0] + counts[1]];
    let mut items = Vec::new();
    if !range.is_empty() {
        let mut listing = start()?;
        while items.len() < range.len() {
            let Some(entry) = listing.next().await? else { break };
            let place = &mut next[entry.kind() as usize];
            if range.contains(place) {
                items.push((*place, entry));
            }
            *place += 1;
        }
    }
    items.sort_by_key(|(place, _)| *place);
    Ok(Page::of_total(items.into_iter().map(|(_, entry)| entry).collect(), page, total))
}

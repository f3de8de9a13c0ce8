//! All notes of a merge request: those of discussions and those that belong to none.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use holdfast_domain::ids::{DiscussionId, MergeRequestId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::merge_requests::discussion;
use holdfast_store::planning::note as notes;

use super::discussion::{DiscussionWithNotes, load, load_with_versions, load_without_notes};
use super::version::Version;
use crate::planning::issue_visibility::confidential_access;
use crate::planning::note::{self, Note, NoteKind, NoteSelection, NoteTarget};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// A discussion, or a note that belongs to none.
#[derive(Debug)]
pub enum Thread {
    Note(Box<Note>),
    Discussion(Box<DiscussionWithNotes>),
}

/// Lists the discussions of a merge request together with the notes that belong to none, in the order in which they
/// were started.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    page: PageRequest,
) -> Result<Page<Thread>> {
    let first_notes =
        note::list(app, actor, project, NoteTarget::MergeRequest(request), first_notes_only(), page).await?;
    let ids: Vec<DiscussionId> = first_notes.items.iter().filter_map(Note::discussion).collect();
    let found = discussion::find_many(&mut *app.database.connection().await?, request, &ids).await?;
    let loaded = load(app, actor, project, request, found).await?;
    Ok(threads(first_notes, loaded))
}

/// Like [`list`], for a merge request with these versions that the actor has been authorized to read.
pub(super) async fn list_with_versions(
    app: &App,
    actor: &Actor,
    project: &Project,
    request: MergeRequestId,
    versions: &[Version],
    page: PageRequest,
) -> Result<Page<Thread>> {
    let (target, access) = (NoteTarget::MergeRequest(request), confidential_access(actor, project));
    let first_notes = notes::list(&app.database, target, access, first_notes_only(), page).await?;
    let ids: Vec<DiscussionId> = first_notes.items.iter().filter_map(Note::discussion).collect();
    let found = discussion::find_many(&mut *app.database.connection().await?, request, &ids).await?;
    let loaded = match found.is_empty() {
        true => Vec::new(),
        false => load_with_versions(app, actor, &ProjectRef::Id(project.id), versions, found).await?,
    };
    Ok(threads(first_notes, loaded))
}

fn first_notes_only() -> NoteSelection {
    NoteSelection { kind: NoteKind::First, ..NoteSelection::default() }
}

/// Replaces the first notes of discussions by the discussions.
fn threads(first_notes: Page<Note>, loaded: Vec<DiscussionWithNotes>) -> Page<Thread> {
    let mut loaded: HashMap<DiscussionId, DiscussionWithNotes> =
        loaded.into_iter().map(|it| (it.discussion.id, it)).collect();
    let thread = |note: Note| match note.discussion() {
        None => Some(Thread::Note(Box::new(note))),
        // A discussion whose last note was deleted meanwhile is left out.
        Some(id) => loaded.remove(&id).map(|discussion| Thread::Discussion(Box::new(discussion))),
    };
    let items = first_notes.items.into_iter().filter_map(thread).collect();
    Page { items, request: first_notes.request, total: first_notes.total, has_next: first_notes.has_next }
}

/// A note of a merge request, with the discussion that it belongs to, if it does. The discussion is without its notes.
#[derive(Debug)]
pub struct DiscussedNote {
    pub note: Note,
    pub discussion: Option<Arc<DiscussionWithNotes>>,
}

/// Lists notes of a merge request with the discussions that they belong to.
#[crate::boxed]
pub async fn list_notes(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    selection: NoteSelection,
    page: PageRequest,
) -> Result<Page<DiscussedNote>> {
    let page = note::list(app, actor, project, NoteTarget::MergeRequest(request), selection, page).await?;
    let items = with_discussions(app, actor, project, request, page.items).await?;
    Ok(Page { items, request: page.request, total: page.total, has_next: page.has_next })
}

/// Returns a note of a merge request that the current user sees, with the discussion that it belongs to.
#[crate::boxed]
pub async fn with_discussion(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    note: Note,
) -> Result<DiscussedNote> {
    access::read_project(app, actor, project, ProjectAction::ReadMergeRequests).await?;
    let mut notes = with_discussions(app, actor, project, request, vec![note]).await?;
    notes.pop().ok_or(Error::NotFound(Resource::Note))
}

async fn with_discussions(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    notes: Vec<Note>,
) -> Result<Vec<DiscussedNote>> {
    let ids: HashSet<DiscussionId> = notes.iter().filter_map(Note::discussion).collect();
    let ids: Vec<DiscussionId> = ids.into_iter().collect();
    let found = discussion::find_many(&mut *app.database.connection().await?, request, &ids).await?;
    let loaded = load_without_notes(app, actor, project, request, found).await?;
    let loaded: HashMap<DiscussionId, Arc<DiscussionWithNotes>> =
        loaded.into_iter().map(|it| (it.discussion.id, Arc::new(it))).collect();
    let find =
        |note: Note| DiscussedNote { discussion: note.discussion().and_then(|id| loaded.get(&id)).cloned(), note };
    Ok(notes.into_iter().map(find).collect())
}

//! Notes on issues and merge requests.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience};
use holdfast_domain::ids::{DiscussionId, NoteId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::check_note;
use holdfast_store::Connection;
use holdfast_store::activity::event::{self, NewEvent, OutboxEvent, Subject};
use holdfast_store::merge_requests::merge_request::{self, MergeRequest};
use holdfast_store::merge_requests::{discussion, subscription};
use holdfast_store::planning::{issue as issues, note};
use holdfast_store::projects::project;
use holdfast_store::worker::merge_requests;

pub use holdfast_store::planning::note::{Note, NoteKind, NoteOrder, NoteSelection, NoteTarget};

use super::events;
use super::issue::{Issue, add_mention_notes};
use super::issue_update::effective_time;
use super::issue_visibility::{self, audience, confidential_access};
use super::todo;
use crate::accounts::user::{UserSummary, lock_author};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// An issue or a merge request that the actor may see.
pub(crate) enum Noteable {
    Issue(Box<Issue>),
    MergeRequest(Box<MergeRequest>),
}

impl Noteable {
    pub fn author(&self) -> UserId {
        match self {
            Self::Issue(issue) => issue.author.id,
            Self::MergeRequest(request) => request.author.id,
        }
    }

    fn target(&self) -> NoteTarget {
        match self {
            Self::Issue(issue) => NoteTarget::Issue(issue.id),
            Self::MergeRequest(request) => NoteTarget::MergeRequest(request.id),
        }
    }
}

pub(super) const fn read_action(target: NoteTarget) -> ProjectAction {
    match target {
        NoteTarget::Issue(_) => ProjectAction::ReadIssues,
        NoteTarget::MergeRequest(_) => ProjectAction::ReadMergeRequests,
    }
}

pub(super) const fn write_action(target: NoteTarget) -> ProjectAction {
    match target {
        NoteTarget::Issue(_) => ProjectAction::CreateIssue,
        NoteTarget::MergeRequest(_) => ProjectAction::CommentOnMergeRequests,
    }
}

pub(super) async fn find_noteable(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    target: NoteTarget,
) -> Result<Noteable> {
    match target {
        NoteTarget::Issue(id) => {
            let issue = issue_visibility::find_visible(connection, actor, project, id).await?;
            Ok(Noteable::Issue(Box::new(issue)))
        }
        NoteTarget::MergeRequest(id) => {
            let found = merge_request::find(connection, project.id, id, actor.user_id()).await?;
            Ok(Noteable::MergeRequest(Box::new(found.ok_or(Error::NotFound(Resource::MergeRequest))?)))
        }
    }
}

/// Like [`find_noteable`], but locks the row until the end of the transaction. The lock of an issue keeps it from
/// becoming confidential before the event of a note is in the feed.
pub(crate) async fn lock_noteable(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    target: NoteTarget,
) -> Result<Noteable> {
    match target {
        NoteTarget::Issue(id) => issues::lock(connection, project.id, id).await?,
        NoteTarget::MergeRequest(id) => merge_request::lock(connection, project.id, id).await?,
    }
    find_noteable(connection, actor, project, target).await
}

/// Lists notes of an issue or a merge request.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    selection: NoteSelection,
    page: PageRequest,
) -> Result<Page<Note>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, read_action(target)).await?;
    find_noteable(&mut connection, actor, &project, target).await?;
    drop(connection);
    Ok(note::list(&app.database, target, confidential_access(actor, &project), selection, page).await?)
}

/// Lists the users who take part in an issue or a merge request: its author, its assignee and those who wrote notes on
/// it.
#[crate::boxed]
pub async fn list_participants(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    page: PageRequest,
) -> Result<Page<UserSummary>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, read_action(target)).await?;
    find_noteable(&mut connection, actor, &project, target).await?;
    drop(connection);
    Ok(note::list_participants(&app.database, target, page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, target: NoteTarget, id: NoteId) -> Result<Note> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, read_action(target)).await?;
    find_noteable(&mut connection, actor, &project, target).await?;
    find(&mut connection, actor, &project, target, id).await
}

pub(super) async fn find(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    target: NoteTarget,
    id: NoteId,
) -> Result<Note> {
    let found = note::find(connection, target, id, confidential_access(actor, project)).await?;
    found.ok_or(Error::NotFound(Resource::Note))
}

/// A note that is to be written.
pub(crate) struct NewNote<'a> {
    pub body: &'a str,
    pub created_at: DateTime<Utc>,
    pub discussion: Option<DiscussionId>,
}

#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    body: &str,
    requested_at: Option<DateTime<Utc>>,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, write_action(target)).await?;
    let noteable = lock_noteable(&mut transaction, actor, &project, target).await?;
    let created_at = effective_time(app, actor, &project, requested_at);
    let new = NewNote { body, created_at, discussion: None };
    let note = add(app, &mut transaction, actor, &project, &noteable, new).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// Adds a note of the current user, with what follows from it: system notes and todos of whom it mentions, and its events.
/// The caller has authorized the actor, holds the lock of the target, and commits.
pub(crate) async fn add(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    noteable: &Noteable,
    new: NewNote<'_>,
) -> Result<Note> {
    check_note(new.body)?;
    if let Some(discussion) = new.discussion {
        check_discussion_size(connection, discussion, 1, new.body.len()).await?;
    }
    let (target, now) = (noteable.target(), app.clock.now());
    let author = lock_author(connection, actor).await?;
    let id = note::insert(connection, target, author, new.body, new.created_at, now, new.discussion).await?;
    let note = find(connection, actor, project, target, id).await?;
    match noteable {
        Noteable::Issue(issue) => add_mention_notes(app, connection, actor, project, issue, new.body).await?,
        Noteable::MergeRequest(request) => {
            subscription::subscribe_by_default(connection, request.id, author).await?;
        }
    }
    todo::update_for_note(app, connection, author, project.id, &note, "").await?;
    let event = NewEvent {
        project: project.id,
        author,
        action: Action::Commented,
        subject: Subject::Note(target, id),
        audience: match noteable {
            Noteable::Issue(issue) => audience(issue.confidential),
            Noteable::MergeRequest(_) => Audience::CodeReaders,
        },
    };
    let user = &actor.current_user()?.account.summary;
    let outbox_event = outbox_event(connection, project, user, noteable, &note).await?;
    event::record(connection, event, Some(&outbox_event), now).await?;
    Ok(note)
}

/// Maximum number of notes of a discussion, and maximum size of their texts. Lists of discussions contain all notes, so
/// these numbers limit what a list keeps in memory.
const MAX_DISCUSSION_NOTES: i64 = 100;
const MAX_DISCUSSION_BYTES: i64 = 128 << 10;

/// Fails if a discussion would become too large. The caller holds the lock of its merge request.
async fn check_discussion_size(
    connection: &mut Connection,
    id: DiscussionId,
    added_notes: i64,
    added_bytes: usize,
) -> Result<()> {
    let (notes, bytes) = discussion::measure(connection, id).await?;
    let bytes = bytes.saturating_add(i64::try_from(added_bytes).unwrap_or(i64::MAX));
    if notes + added_notes > MAX_DISCUSSION_NOTES || bytes > MAX_DISCUSSION_BYTES {
        let limits = format!("at most {MAX_DISCUSSION_NOTES} notes and {} kB of text", MAX_DISCUSSION_BYTES >> 10);
        return Err(Error::Rejected(format!("A discussion has {limits}: start another one")));
    }
    Ok(())
}

async fn outbox_event(
    connection: &mut Connection,
    project: &Project,
    user: &UserSummary,
    noteable: &Noteable,
    note: &Note,
) -> Result<OutboxEvent> {
    match noteable {
        Noteable::Issue(issue) => Ok(events::note_event(project, user, issue, note)),
        Noteable::MergeRequest(request) => {
            let source = request.source_project().into_iter().collect::<Vec<_>>();
            let source = project::find_many(connection, &source).await?;
            Ok(events::merge_request_note_event(project, source.first(), user, request, note))
        }
    }
}

/// Changes the body of a note. Only its author and users who can moderate notes may.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    id: NoteId,
    body: &str,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let (project, noteable, note) = lock_editable(app, &mut transaction, actor, project, target, id).await?;
    // The error text is as existing clients expect.
    check_note(body).map_err(|violations| {
        let messages = violations.iter().flat_map(|(_, messages)| messages).map(|text| format!("\"{text}\""));
        Error::Rejected(format!("Failed to save note {{:note=>[{}]}}", messages.collect::<Vec<_>>().join(", ")))
    })?;
    if let Some(discussion) = note.discussion() {
        check_discussion_size(&mut transaction, discussion, 0, body.len().saturating_sub(note.body.len())).await?;
    }
    note::update(&mut transaction, target, note.id, body, app.clock.now()).await?;
    let body_before = note.body;
    let note = find(&mut transaction, actor, &project, target, id).await?;
    let editor = actor.current_user()?.account.id();
    todo::update_for_note(app, &mut transaction, editor, project.id, &note, &body_before).await?;
    if let Noteable::Issue(issue) = &noteable {
        add_mention_notes(app, &mut transaction, actor, &project, issue, body).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// Deletes a note and returns it as it was before. Only its author and users who can moderate notes may.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, target: NoteTarget, id: NoteId) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let (_, noteable, note) = lock_editable(app, &mut transaction, actor, project, target, id).await?;
    if !note::delete(&mut transaction, target, note.id).await? {
        return Err(Error::NotFound(Resource::Note));
    }
    event::delete_for_note(&mut transaction, target, note.id).await?;
    if let Some(discussion) = note.discussion() {
        discussion::delete_if_empty(&mut transaction, discussion).await?;
        if let Noteable::MergeRequest(request) = &noteable {
            merge_requests::enqueue_if_waiting(&mut transaction, request).await?;
        }
    }
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

async fn lock_editable(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    id: NoteId,
) -> Result<(Project, Noteable, Note)> {
    let project = access::authorize_project(app, connection, actor, project, write_action(target)).await?;
    // The target is locked before the note, in the same order as by a transaction that deletes it with its notes.
    let noteable = lock_noteable(connection, actor, &project, target).await?;
    let note = find_editable(connection, actor, &project, target, id).await?;
    Ok((project, noteable, note))
}

/// Finds a note that the actor may edit: an own one, or any if the actor can moderate notes. System notes are not edited.
pub(crate) async fn find_editable(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    target: NoteTarget,
    id: NoteId,
) -> Result<Note> {
    let note = find(connection, actor, project, target, id).await?;
    let is_own = Some(note.author.id) == actor.user_id();
    if note.system || !(is_own || access::can(actor, project, ProjectAction::ModerateNotes)) {
        return Err(Error::Forbidden(None));
    }
    Ok(note)
}

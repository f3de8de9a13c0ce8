//! Notes on issues and merge requests.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::{Action, Audience};
use holdfast_domain::ids::{NoteId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::check_note;
use holdfast_store::Connection;
use holdfast_store::activity::event::{self, NewEvent, OutboxEvent, Subject};
use holdfast_store::merge_requests::merge_request::{self, MergeRequest};
use holdfast_store::planning::{issue as issues, note};
use holdfast_store::projects::project;

pub use holdfast_store::planning::note::{Note, NoteTarget};

use super::events;
use super::issue::{Issue, add_mention_notes};
use super::issue_update::effective_time;
use super::issue_visibility::{self, audience, confidential_access};
use crate::accounts::user::{UserSummary, lock_author};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// An issue or a merge request that the actor may see.
pub(super) enum Noteable {
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
async fn lock_noteable(
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

/// Lists notes, oldest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    page: PageRequest,
) -> Result<Page<Note>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, read_action(target)).await?;
    find_noteable(&mut connection, actor, &project, target).await?;
    drop(connection);
    Ok(note::list(&app.database, target, confidential_access(actor, &project), page).await?)
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
    check_note(body)?;
    let (created_at, now) = (effective_time(app, actor, &project, requested_at), app.clock.now());
    let author = lock_author(&mut transaction, actor).await?;
    let id = note::insert(&mut transaction, target, author, body, created_at, now).await?;
    let note = find(&mut transaction, actor, &project, target, id).await?;
    match &noteable {
        Noteable::Issue(issue) => add_mention_notes(app, &mut transaction, actor, &project, issue, body).await?,
        Noteable::MergeRequest(request) => {
            merge_request::subscribe_by_default(&mut transaction, request.id, author).await?;
        }
    }
    let event = NewEvent {
        project: project.id,
        author,
        action: Action::Commented,
        subject: Subject::Note(target, id),
        audience: match &noteable {
            Noteable::Issue(issue) => audience(issue.confidential),
            Noteable::MergeRequest(_) => Audience::CodeReaders,
        },
    };
    let user = &actor.current_user()?.account.summary;
    let outbox_event = outbox_event(&mut transaction, &project, user, &noteable, &note).await?;
    event::record(&mut transaction, event, Some(&outbox_event), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
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
    note::update(&mut transaction, target, note.id, body, app.clock.now()).await?;
    let note = find(&mut transaction, actor, &project, target, id).await?;
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
    let (_, _, note) = lock_editable(app, &mut transaction, actor, project, target, id).await?;
    if !note::delete(&mut transaction, target, note.id).await? {
        return Err(Error::NotFound(Resource::Note));
    }
    event::delete_for_note(&mut transaction, target, note.id).await?;
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
pub(super) async fn find_editable(
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

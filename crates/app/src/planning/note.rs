//! Notes on issues.

use chrono::{DateTime, Utc};
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{IssueId, NoteId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::check_note;
use holdfast_store::Connection;
use holdfast_store::activity::event::{self, NewEvent, Subject};
use holdfast_store::planning::{issue as issues, note};

pub use holdfast_store::planning::note::Note;

use super::events;
use super::issue::{Issue, add_mention_notes};
use super::issue_update::effective_time;
use super::issue_visibility::{self, audience, confidential_access};
use crate::accounts::user::lock_author;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the notes of an issue, oldest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    page: PageRequest,
) -> Result<Page<Note>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let issue = issue_visibility::find_visible(&mut connection, actor, &project, issue).await?;
    drop(connection);
    Ok(note::list(&app.database, issue.id, confidential_access(actor, &project), page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, issue: IssueId, id: NoteId) -> Result<Note> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let issue = issue_visibility::find_visible(&mut connection, actor, &project, issue).await?;
    find(&mut connection, actor, &project, &issue, id).await
}

async fn find(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    id: NoteId,
) -> Result<Note> {
    let found = note::find(connection, issue.id, id, confidential_access(actor, project)).await?;
    found.ok_or(Error::NotFound(Resource::Note))
}

#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    body: &str,
    requested_at: Option<DateTime<Utc>>,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::CreateIssue).await?;
    // The lock keeps the issue from becoming confidential before the event of the note is in the feed.
    issues::lock(&mut transaction, project.id, issue).await?;
    let issue = issue_visibility::find_visible(&mut transaction, actor, &project, issue).await?;
    check_note(body)?;
    let current_user = actor.current_user()?;
    let (created_at, now) = (effective_time(app, actor, &project, requested_at), app.clock.now());
    let author = lock_author(&mut transaction, actor).await?;
    let id = note::insert(&mut transaction, issue.id, author, body, created_at, now).await?;
    let note = find(&mut transaction, actor, &project, &issue, id).await?;
    add_mention_notes(app, &mut transaction, actor, &project, &issue, body).await?;
    let event = NewEvent {
        project: project.id,
        author,
        action: Action::Commented,
        subject: Subject::Note(issue.id, id),
        audience: audience(issue.confidential),
    };
    let outbox_event = events::note_event(&project, &current_user.account.summary, &issue, &note);
    event::record(&mut transaction, event, Some(&outbox_event), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// Changes the body of a note. Only its author and users who can moderate notes may.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    id: NoteId,
    body: &str,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let (project, issue, note) = lock_editable(app, &mut transaction, actor, project, issue, id).await?;
    // The error text is as existing clients expect.
    check_note(body).map_err(|violations| {
        let messages = violations.iter().flat_map(|(_, messages)| messages).map(|text| format!("\"{text}\""));
        Error::Rejected(format!("Failed to save note {{:note=>[{}]}}", messages.collect::<Vec<_>>().join(", ")))
    })?;
    note::update(&mut transaction, issue.id, note.id, body, app.clock.now()).await?;
    let note = find(&mut transaction, actor, &project, &issue, id).await?;
    add_mention_notes(app, &mut transaction, actor, &project, &issue, body).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// Deletes a note and returns it as it was before. Only its author and users who can moderate notes may.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, issue: IssueId, id: NoteId) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let (_, issue, note) = lock_editable(app, &mut transaction, actor, project, issue, id).await?;
    if !note::delete(&mut transaction, issue.id, note.id).await? {
        return Err(Error::NotFound(Resource::Note));
    }
    event::delete_for_note(&mut transaction, issue.id, note.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

async fn lock_editable(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    id: NoteId,
) -> Result<(Project, Issue, Note)> {
    let project = access::authorize_project(app, connection, actor, project, ProjectAction::CreateIssue).await?;
    // The issue is locked before the note, in the same order as by a transaction that deletes the issue with its notes.
    issues::lock(connection, project.id, issue).await?;
    let issue = issue_visibility::find_visible(connection, actor, &project, issue).await?;
    let note = find_editable(connection, actor, &project, &issue, id).await?;
    Ok((project, issue, note))
}

/// Finds a note that the actor may edit: an own one, or any if the actor can moderate notes. System notes are not edited.
pub(super) async fn find_editable(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    id: NoteId,
) -> Result<Note> {
    let note = find(connection, actor, project, issue, id).await?;
    let is_own = Some(note.author.id) == actor.user_id();
    if note.system || !(is_own || access::can(actor, project, ProjectAction::ModerateNotes)) {
        return Err(Error::Forbidden(None));
    }
    Ok(note)
}

//! What is said about issues.

use chrono::{DateTime, Utc};
use holdfast_domain::Violations;
use holdfast_domain::activity::Action;
use holdfast_domain::ids::{IssueId, NoteId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_domain::violations::BLANK;
use holdfast_store::Connection;
use holdfast_store::activity::event::{self, NewEvent, Subject};
use holdfast_store::planning::{issue as issues, note};

pub use holdfast_store::planning::note::Note;

use super::issue::{Issue, keep_author, mention};
use super::issue_change::time_of;
use super::notice;
use super::sight::{self, audience, seen};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, Thing, access};

/// Oldest first.
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    page: PageRequest,
) -> Result<Page<Note>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let issue = sight::find(&mut connection, actor, &project, issue).await?;
    drop(connection);
    Ok(note::list(&app.database, issue.id, seen(actor, &project), page).await?)
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, issue: IssueId, id: NoteId) -> Result<Note> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let issue = sight::find(&mut connection, actor, &project, issue).await?;
    find(&mut connection, actor, &project, &issue, id).await
}

async fn find(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    issue: &Issue,
    id: NoteId,
) -> Result<Note> {
    let found = note::find(connection, issue.id, id, seen(actor, project)).await?;
    found.ok_or(Error::NotFound(Thing::Note))
}

fn check(body: &str) -> std::result::Result<(), Violations> {
    let mut violations = Violations::default();
    if body.trim().is_empty() {
        violations.add("note", BLANK);
    }
    violations.check_size("note", body, MAX_TEXT_BYTES);
    violations.into_result()
}

pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    body: &str,
    at: Option<DateTime<Utc>>,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::CreateIssue).await?;
    // It must not become confidential before this is in the feed.
    issues::lock(&mut transaction, project.id, issue).await?;
    let issue = sight::find(&mut transaction, actor, &project, issue).await?;
    check(body)?;
    let caller = actor.caller()?;
    let (at, now) = (time_of(app, actor, &project, at), app.clock.now());
    let author = keep_author(&mut transaction, actor).await?;
    let id = note::insert(&mut transaction, issue.id, author, body, at, now).await?;
    let note = find(&mut transaction, actor, &project, &issue, id).await?;
    mention(app, &mut transaction, actor, &project, &issue, body).await?;
    let event = NewEvent {
        project: project.id,
        author,
        action: Action::Commented,
        subject: Subject::Note(issue.id, id),
        audience: audience(issue.confidential),
    };
    let notice = notice::note(&project, &caller.account.person, &issue, &note);
    event::record(&mut transaction, event, Some(&notice), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// For who said it, or moderates what is said.
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    id: NoteId,
    body: &str,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let (project, issue, note) = editable(app, &mut transaction, actor, project, issue, id).await?;
    // As existing clients know it.
    check(body).map_err(|violations| {
        let messages = violations.iter().flat_map(|(_, messages)| messages).map(|text| format!("\"{text}\""));
        Error::Refused(format!("Failed to save note {{:note=>[{}]}}", messages.collect::<Vec<_>>().join(", ")))
    })?;
    note::update(&mut transaction, issue.id, note.id, body, app.clock.now()).await?;
    let note = find(&mut transaction, actor, &project, &issue, id).await?;
    mention(app, &mut transaction, actor, &project, &issue, body).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// The same. What was said.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, issue: IssueId, id: NoteId) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let (_, issue, note) = editable(app, &mut transaction, actor, project, issue, id).await?;
    if !note::delete(&mut transaction, issue.id, note.id).await? {
        return Err(Error::NotFound(Thing::Note));
    }
    event::delete_of_note(&mut transaction, issue.id, note.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

async fn editable(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    issue: IssueId,
    id: NoteId,
) -> Result<(Project, Issue, Note)> {
    let project = access::project(app, connection, actor, project, ProjectAction::CreateIssue).await?;
    // Before the note, as for who deletes the issue with all its notes.
    issues::lock(connection, project.id, issue).await?;
    let issue = sight::find(connection, actor, &project, issue).await?;
    let note = find(connection, actor, &project, &issue, id).await?;
    let is_own = Some(note.author.id) == actor.user_id();
    if note.system || !(is_own || access::may(actor, &project, ProjectAction::ModerateNotes)) {
        return Err(Error::Forbidden(None));
    }
    Ok((project, issue, note))
}

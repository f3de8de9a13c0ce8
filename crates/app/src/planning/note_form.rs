//! The form of a note of an issue, which is named by its number in the project.

use holdfast_domain::ids::NoteId;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::check_note;

use super::issue::Issue;
use super::issue_visibility::find_visible_by_iid;
use super::note::{self, Note, NoteTarget};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Result, access};

/// A note that the actor may edit and delete, with its issue and project.
#[derive(Debug)]
pub struct EditableNote {
    pub project: Project,
    pub issue: Issue,
    pub note: Note,
}

/// Returns the form of a note. Only its author and users who can moderate notes get it.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, id: NoteId) -> Result<EditableNote> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::CreateIssue).await?;
    let issue = find_visible_by_iid(&mut connection, actor, &project, iid).await?;
    let note = note::find_editable(&mut connection, actor, &project, NoteTarget::Issue(issue.id), id).await?;
    Ok(EditableNote { project, issue, note })
}

/// Changes the body of a note.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    id: NoteId,
    body: &str,
) -> Result<EditableNote> {
    let form = show(app, actor, project, iid, id).await?;
    check_note(body)?;
    let target = NoteTarget::Issue(form.issue.id);
    let note = note::update(app, actor, &ProjectRef::Id(form.project.id), target, id, body).await?;
    Ok(EditableNote { note, ..form })
}

/// Deletes a note, and returns it as it was before.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, id: NoteId) -> Result<EditableNote> {
    let form = show(app, actor, project, iid, id).await?;
    note::delete(app, actor, &ProjectRef::Id(form.project.id), NoteTarget::Issue(form.issue.id), id).await?;
    Ok(form)
}

//! Actions on one merge request, which is named by its number in the project: comment, discuss, close, reopen, merge,
//! subscribe.

use holdfast_domain::ids::{DiscussionId, NoteId};
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::check_note;
use holdfast_store::planning::note::{self as notes, NoteKind, NoteTarget};

use super::accept::{self, AcceptMergeRequest};
use super::changes::MergeRequestChanges;
use super::discussion::NewPosition;
use super::merge_request::{self, MergeRequest, can_edit};
use super::{discussion, waiting};
use crate::planning::issue_visibility::confidential_access;
use crate::planning::note;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, access};

/// A merge request with its project.
#[derive(Debug)]
pub struct ProjectMergeRequest {
    pub project: Project,
    pub request: MergeRequest,
}

impl ProjectMergeRequest {
    pub(super) fn reference(&self) -> ProjectRef {
        ProjectRef::Id(self.project.id)
    }
}

/// Finds a merge request that the actor may read, if the actor may comment in its project.
pub(super) async fn find(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<ProjectMergeRequest> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::CommentOnMergeRequests;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let request = merge_request::find_by_iid(&mut connection, actor, &project, iid).await?;
    Ok(ProjectMergeRequest { project, request })
}

/// Where a comment is written.
#[derive(Clone, Debug)]
pub enum CommentPlace {
    /// A note that belongs to no discussion.
    Alone,
    /// The first note of a discussion, which can be resolved.
    NewDiscussion,
    /// The first note of a discussion about a line.
    Line(NewPosition),
    Discussion(DiscussionId),
}

/// What a comment did.
#[derive(Debug)]
pub struct Comment {
    pub request: MergeRequest,
    /// The new note. None if the text was empty and the state was changed.
    pub note: Option<NoteId>,
    /// How many notes and discussions precede it on the page.
    pub preceding_count: i64,
    /// Whether the state was not changed, because another merge request for the same branches is open.
    pub is_state_refused: bool,
}

/// Adds a note to a merge request, and closes or reopens the merge request if that is requested.
#[crate::boxed]
pub async fn comment(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    text: &str,
    place: CommentPlace,
    state_event: Option<StateEvent>,
) -> Result<Comment> {
    let found = find(app, actor, project, iid).await?;
    let can_change = !found.project.archived && can_edit(actor, &found.project, &found.request);
    if state_event.is_some() && !can_change {
        return Err(Error::Forbidden(None));
    }
    let (reference, id) = (found.reference(), found.request.id);
    let target = NoteTarget::MergeRequest(id);
    // A blank note without a change of the state is rejected by the use case of notes.
    let added = match place {
        _ if text.trim().is_empty() && state_event.is_some() => None,
        CommentPlace::Alone => {
            let note = note::create(app, actor, &reference, target, text, None).await?.id;
            Some((note, note))
        }
        CommentPlace::NewDiscussion | CommentPlace::Line(_) => {
            let position = if let CommentPlace::Line(position) = place { Some(position) } else { None };
            let started = discussion::create(app, actor, &reference, id, text, position).await?;
            started.notes.first().map(|note| (note.id, note.id))
        }
        CommentPlace::Discussion(discussion) => {
            let note = discussion::reply(app, actor, &reference, id, discussion, text).await?.id;
            let first = notes::find_first_of_discussion(&mut *app.database.connection().await?, discussion).await?;
            Some((note, first.unwrap_or(note)))
        }
    };
    let preceding_count = match added {
        Some((_, first)) => {
            let access = confidential_access(actor, &found.project);
            let mut connection = app.database.connection().await?;
            notes::count_before(&mut connection, target, NoteKind::First, first, access).await?
        }
        None => 0,
    };
    let note = added.map(|(note, _)| note);
    let Some(event) = state_event else {
        return Ok(Comment { request: found.request, note, preceding_count, is_state_refused: false });
    };
    match change_state(app, actor, &found, event).await {
        Ok(request) => Ok(Comment { request, note, preceding_count, is_state_refused: false }),
        // The comment was saved before, so the conflict is reported together with it.
        Err(Error::Conflict(_)) if note.is_some() => {
            Ok(Comment { request: found.request, note, preceding_count, is_state_refused: true })
        }
        Err(error) => Err(error),
    }
}

async fn change_state(
    app: &App,
    actor: &Actor,
    found: &ProjectMergeRequest,
    event: StateEvent,
) -> Result<MergeRequest> {
    let changes = MergeRequestChanges { state_event: Some(event), ..MergeRequestChanges::default() };
    merge_request::update(app, actor, &found.reference(), found.request.id, changes).await
}

/// Closes or reopens a merge request. Nothing changes if it has the state already.
#[crate::boxed]
pub async fn set_state(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    event: StateEvent,
) -> Result<MergeRequest> {
    let found = find(app, actor, project, iid).await?;
    change_state(app, actor, &found, event).await
}

/// Subscribes the current user to a merge request or unsubscribes them.
#[crate::boxed]
pub async fn set_subscribed(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    is_subscribed: bool,
) -> Result<MergeRequest> {
    let found = find(app, actor, project, iid).await?;
    merge_request::set_subscribed(app, actor, &found.reference(), found.request.id, is_subscribed).await?;
    Ok(found.request)
}

/// Resolves a discussion, or opens it again.
#[crate::boxed]
pub async fn set_resolved(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    id: DiscussionId,
    is_resolved: bool,
) -> Result<MergeRequest> {
    let found = find(app, actor, project, iid).await?;
    discussion::set_resolved(app, actor, &found.reference(), found.request.id, id, is_resolved).await?;
    Ok(found.request)
}

/// Merges a merge request, or lets it wait for its pipeline. Fails with [`Error::Unauthenticated`] if the actor may not merge
/// into the target branch.
#[crate::boxed]
pub async fn merge(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    input: AcceptMergeRequest,
) -> Result<MergeRequest> {
    let found = find(app, actor, project, iid).await?;
    accept::accept(app, actor, &found.reference(), found.request.id, input).await
}

/// Ends the waiting for a pipeline. Nothing changes if the merge request does not wait.
#[crate::boxed]
pub async fn cancel_merge(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<MergeRequest> {
    let found = find(app, actor, project, iid).await?;
    let canceled = waiting::cancel(app, actor, &found.reference(), found.request.id).await?;
    Ok(canceled.unwrap_or(found.request))
}

/// A note that the actor may edit and delete, with its merge request and project.
#[derive(Debug)]
pub struct EditableNote {
    pub project: Project,
    pub request: MergeRequest,
    pub note: note::Note,
}

/// Returns the form of a note. Only its author and users who can moderate notes get it.
#[crate::boxed]
pub async fn show_note(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, id: NoteId) -> Result<EditableNote> {
    let ProjectMergeRequest { project, request } = find(app, actor, project, iid).await?;
    let target = NoteTarget::MergeRequest(request.id);
    let mut connection = app.database.connection().await?;
    let note = note::find_editable(&mut connection, actor, &project, target, id).await?;
    Ok(EditableNote { project, request, note })
}

/// Changes the body of a note.
#[crate::boxed]
pub async fn update_note(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    id: NoteId,
    body: &str,
) -> Result<EditableNote> {
    let form = show_note(app, actor, project, iid, id).await?;
    check_note(body)?;
    let target = NoteTarget::MergeRequest(form.request.id);
    let note = note::update(app, actor, &ProjectRef::Id(form.project.id), target, id, body).await?;
    Ok(EditableNote { note, ..form })
}

/// Deletes a note, and returns it as it was before.
#[crate::boxed]
pub async fn delete_note(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, id: NoteId) -> Result<EditableNote> {
    let form = show_note(app, actor, project, iid, id).await?;
    let target = NoteTarget::MergeRequest(form.request.id);
    note::delete(app, actor, &ProjectRef::Id(form.project.id), target, id).await?;
    Ok(form)
}

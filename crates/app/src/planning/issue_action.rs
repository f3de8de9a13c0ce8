//! Actions on one issue, which is named by its number in the project: comment, close, reopen, subscribe, move, delete.

use holdfast_domain::Violations;
use holdfast_domain::ids::NoteId;
use holdfast_domain::planning::{QuickAction, StateEvent, split_quick_actions};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::planning::note::{self as notes, NoteKind, NoteTarget};

pub use super::quick_action::RefusedActions;

use super::issue::{self, Issue};
use super::issue_update::IssueChanges;
use super::issue_visibility::{confidential_access, find_visible_by_iid};
use super::{issue_move, note, quick_action};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// An issue with its project.
#[derive(Debug)]
pub struct ProjectIssue {
    pub project: Project,
    pub issue: Issue,
}

/// Finds an issue that the actor may see, if the actor may perform this action in its project.
async fn find(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, action: ProjectAction) -> Result<ProjectIssue> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let issue = find_visible_by_iid(&mut connection, actor, &project, iid).await?;
    Ok(ProjectIssue { project, issue })
}

/// What a comment did.
#[derive(Debug)]
pub struct Comment {
    pub issue: Issue,
    /// The new note. None if the text has only quick actions, or if it is empty and the state was changed.
    pub note: Option<NoteId>,
    /// How many notes precede the new one in the list.
    pub preceding_count: i64,
    pub refused: RefusedActions,
}

/// Adds a note to an issue, runs its quick actions, and closes or reopens the issue if that is requested.
#[crate::boxed]
pub async fn comment(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    text: &str,
    state_event: Option<StateEvent>,
) -> Result<Comment> {
    let ProjectIssue { project, issue } = find(app, actor, project, iid, ProjectAction::CreateIssue).await?;
    let access = confidential_access(actor, &project);
    let project = ProjectRef::Id(project.id);
    let (body, mut actions) = split_quick_actions(text);
    actions.extend(state_event.map(|event| match event {
        StateEvent::Close => QuickAction::Close,
        StateEvent::Reopen => QuickAction::Reopen,
    }));
    let target = NoteTarget::Issue(issue.id);
    // A blank note without an action is rejected by the use case of notes.
    let note = match body.trim().is_empty() && !actions.is_empty() {
        true => None,
        false => Some(note::create(app, actor, &project, target, &body, None).await?.id),
    };
    let preceding_count = match note {
        Some(id) => {
            let mut connection = app.database.connection().await?;
            notes::count_before(&mut connection, target, NoteKind::All, id, access).await?
        }
        None => 0,
    };
    let refused = quick_action::run(app, actor, &project, issue.id, &actions).await?;
    Ok(Comment { issue, note, preceding_count, refused })
}

/// Closes or reopens an issue. Nothing changes if it has the state already.
#[crate::boxed]
pub async fn set_state(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, event: StateEvent) -> Result<Issue> {
    let ProjectIssue { project, issue } = find(app, actor, project, iid, ProjectAction::CreateIssue).await?;
    let changes = IssueChanges { state_event: Some(event), ..IssueChanges::default() };
    issue::update(app, actor, &ProjectRef::Id(project.id), issue.id, changes).await
}

/// Subscribes the current user to an issue or unsubscribes them.
#[crate::boxed]
pub async fn set_subscribed(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    is_subscribed: bool,
) -> Result<Issue> {
    let ProjectIssue { project, issue } = find(app, actor, project, iid, ProjectAction::CreateIssue).await?;
    issue::set_subscribed(app, actor, &ProjectRef::Id(project.id), issue.id, is_subscribed).await?;
    Ok(issue)
}

/// Returns an issue that the actor may delete.
#[crate::boxed]
pub async fn show_deletable(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<ProjectIssue> {
    find(app, actor, project, iid, ProjectAction::DeleteIssue).await
}

/// Deletes an issue with its notes, and returns it as it was before.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<Issue> {
    let ProjectIssue { project, issue } = find(app, actor, project, iid, ProjectAction::DeleteIssue).await?;
    issue::delete(app, actor, &ProjectRef::Id(project.id), issue.id).await
}

/// Returns an issue that the actor may move to another project.
#[crate::boxed]
pub async fn show_movable(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<ProjectIssue> {
    find(app, actor, project, iid, ProjectAction::ManageIssues).await
}

/// Moves an issue to the project with this path, and returns the issue there.
#[crate::boxed]
pub async fn move_to(app: &App, actor: &Actor, project: &ProjectRef, iid: i64, target: &str) -> Result<Issue> {
    let ProjectIssue { project, issue } = find(app, actor, project, iid, ProjectAction::ManageIssues).await?;
    let (namespace, path) = target.trim().trim_matches('/').rsplit_once('/').unwrap_or_default();
    let target = ProjectRef::Path { namespace: namespace.to_owned(), project: path.to_owned() };
    let rejected = |text: &str| Error::from(Violations::single("target", text));
    let target = match access::read_project(app, actor, &target, ProjectAction::Read).await {
        Ok(target) => target,
        Err(Error::NotFound(Resource::Project)) => return Err(rejected("was not found")),
        Err(error) => return Err(error),
    };
    match issue_move::move_issue(app, actor, &ProjectRef::Id(project.id), issue.id, target.id).await {
        Err(Error::Rejected(reason)) => Err(rejected(&format!("was refused: {reason}"))),
        result => result,
    }
}

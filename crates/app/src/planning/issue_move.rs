//! Moves an issue to another project.

use holdfast_domain::ids::{IssueId, ProjectId};
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::accounts::{ghost, user};
use holdfast_store::planning::issue::{self, Attributes};
use holdfast_store::planning::note::{self, NoteTarget};
use holdfast_store::planning::{label, milestone, time_tracking};
use holdfast_store::projects::project;

use super::issue::{Issue, IssueEventKind, insert, publish, save};
use super::issue_update::{IssueUpdate, can_be_assigned};
use super::issue_visibility::find_visible;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, access};

/// Creates a copy of an issue with its notes and a new number in another project, and closes the original.
#[crate::boxed]
pub async fn move_issue(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: IssueId,
    target_id: ProjectId,
) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let source = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ReadIssues).await?;
    find_visible(&mut transaction, actor, &source, id).await?;
    let target =
        access::authorize_project(app, &mut transaction, actor, &ProjectRef::Id(target_id), ProjectAction::Read)
            .await?;
    if source.id == target.id {
        return Err(Error::Rejected("Cannot move issue to project it originates from!".into()));
    }
    // Projects are always locked in the order of their ids, which prevents deadlocks.
    project::lock(&mut transaction, source.id.min(target.id)).await?;
    project::lock(&mut transaction, source.id.max(target.id)).await?;
    // A note that is being added is either committed before this lock and copied, or added to the original afterwards.
    issue::lock(&mut transaction, source.id, id).await?;
    let source = authorize_move(app, &mut transaction, actor, source.id).await?;
    let target = authorize_move(app, &mut transaction, actor, target.id).await?;
    let before = find_visible(&mut transaction, actor, &source, id).await?;
    if before.moved_to_id.is_some() {
        return Err(Error::Rejected("Cannot move issue that was moved already!".into()));
    }
    let copy_id = copy_issue(app, &mut transaction, &target, &before).await?;
    let author = actor.current_user()?.account.id();
    let now = app.clock.now();
    // The notes do not name the other project, because not all readers of the issue may see it.
    note::insert_system(
        &mut transaction,
        NoteTarget::Issue(before.id),
        author,
        &["moved to another project".into()],
        now,
    )
    .await?;
    note::insert_system(
        &mut transaction,
        NoteTarget::Issue(copy_id),
        author,
        &["moved from another project".into()],
        now,
    )
    .await?;
    issue::set_moved_to(&mut transaction, before.id, copy_id).await?;
    let issue = find_visible(&mut transaction, actor, &target, copy_id).await?;
    publish(app, &mut transaction, actor, &target, &issue, IssueEventKind::Opened).await?;
    let mut attributes = Attributes::from(&before);
    attributes.state = attributes.state.apply(StateEvent::Close).unwrap_or(attributes.state);
    save(app, transaction, actor, &source, before, IssueUpdate { attributes, labels: None, commit: None }, now).await?;
    Ok(issue)
}

async fn authorize_move(app: &App, connection: &mut Connection, actor: &Actor, id: ProjectId) -> Result<Project> {
    let project =
        access::authorize_project(app, connection, actor, &ProjectRef::Id(id), ProjectAction::CreateIssue).await?;
    if !access::can(actor, &project, ProjectAction::ManageIssues) {
        return Err(Error::Rejected("Cannot move issue due to insufficient permissions!".into()));
    }
    Ok(project)
}

/// Copies an issue with everything that exists in the target project as well: labels and milestone with the same title,
/// and the assignee if the assignee can see the project.
async fn copy_issue(app: &App, connection: &mut Connection, target: &Project, before: &Issue) -> Result<IssueId> {
    let mut attributes = Attributes::from(before);
    if let Some(assignee) = attributes.assignee
        && !can_be_assigned(app, connection, target.id, assignee).await?
    {
        attributes.assignee = None;
    }
    attributes.milestone = match &before.milestone {
        Some(milestone) => milestone::find_id(connection, target.id, &milestone.title).await?,
        None => None,
    };
    let titles: Vec<&str> = before.labels.iter().map(String::as_str).collect();
    let labels = label::find_by_titles(connection, target.id, &titles).await?;
    let update = IssueUpdate { attributes, labels: Some(labels), commit: None };
    // The job that reassigns the content of deleted users may have finished already, so the copy must not name a
    // deleted user.
    let mut authors = note::list_author_ids(connection, before.id).await?;
    authors.push(before.author.id.get());
    let authors = user::lock_key_shared(connection, &authors).await?;
    let ghost = ghost::find(connection).await?;
    let is_author_locked = authors.contains(&before.author.id.get());
    let author = ghost.filter(|_| !is_author_locked).unwrap_or(before.author.id);
    let id = insert(connection, target.id, author, &update, before.created_at, app.clock.now()).await?;
    note::copy_to_issue(connection, before.id, id, &authors, ghost).await?;
    if let Some(stats) = time_tracking::find(connection, NoteTarget::Issue(before.id)).await? {
        time_tracking::update(connection, NoteTarget::Issue(id), stats, app.clock.now()).await?;
    }
    Ok(id)
}

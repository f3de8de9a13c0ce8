//! Moving an issue into another project.

use holdfast_domain::ids::{IssueId, ProjectId};
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::accounts::{ghost, user};
use holdfast_store::planning::issue::{self, Attributes};
use holdfast_store::planning::{label, milestone, note};
use holdfast_store::projects::project;

use super::issue::{Issue, Told, insert, save, tell};
use super::issue_change::{Changed, is_seen_by};
use super::sight::find;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, access};

/// It goes on there under another number, with what was said about it, and is closed here.
pub async fn relocate(app: &App, actor: &Actor, project: &ProjectRef, id: IssueId, to: ProjectId) -> Result<Issue> {
    let mut transaction = app.database.begin().await?;
    let source = access::project(app, &mut transaction, actor, project, ProjectAction::ReadIssues).await?;
    find(&mut transaction, actor, &source, id).await?;
    let target = access::project(app, &mut transaction, actor, &ProjectRef::Id(to), ProjectAction::Read).await?;
    if source.id == target.id {
        return Err(Error::Refused("Cannot move issue to project it originates from!".into()));
    }
    // Everybody takes them in the same order.
    project::lock(&mut transaction, source.id.min(target.id)).await?;
    project::lock(&mut transaction, source.id.max(target.id)).await?;
    // What is being said about it is copied or comes too late.
    issue::lock(&mut transaction, source.id, id).await?;
    let source = manageable(app, &mut transaction, actor, source.id).await?;
    let target = manageable(app, &mut transaction, actor, target.id).await?;
    let before = find(&mut transaction, actor, &source, id).await?;
    if before.moved_to_id.is_some() {
        return Err(Error::Refused("Cannot move issue that was moved already!".into()));
    }
    let moved = transplant(app, &mut transaction, &target, &before).await?;
    let author = actor.caller()?.account.id();
    let now = app.clock.now();
    // Neither names the other project, which not everybody sees who reads this.
    note::insert_system(&mut transaction, before.id, author, &["moved to another project".into()], now).await?;
    note::insert_system(&mut transaction, moved, author, &["moved from another project".into()], now).await?;
    issue::set_moved_to(&mut transaction, before.id, moved).await?;
    let issue = find(&mut transaction, actor, &target, moved).await?;
    tell(app, &mut transaction, actor, &target, &issue, Told::Opened).await?;
    let mut attributes = Attributes::from(&before);
    attributes.state = attributes.state.after(StateEvent::Close).unwrap_or(attributes.state);
    save(app, transaction, actor, &source, before, Changed { attributes, labels: None, commit: None }, now).await?;
    Ok(issue)
}

async fn manageable(app: &App, connection: &mut Connection, actor: &Actor, id: ProjectId) -> Result<Project> {
    let project = access::project(app, connection, actor, &ProjectRef::Id(id), ProjectAction::CreateIssue).await?;
    if !access::may(actor, &project, ProjectAction::ManageIssues) {
        return Err(Error::Refused("Cannot move issue due to insufficient permissions!".into()));
    }
    Ok(project)
}

/// What of it there is in the other project as well: labels and milestone of the same title, the assignee if he sees it.
async fn transplant(app: &App, connection: &mut Connection, target: &Project, before: &Issue) -> Result<IssueId> {
    let mut attributes = Attributes::from(before);
    if let Some(assignee) = attributes.assignee
        && !is_seen_by(app, connection, target.id, assignee).await?
    {
        attributes.assignee = None;
    }
    attributes.milestone = match &before.milestone {
        Some(milestone) => milestone::id_of(connection, target.id, &milestone.title).await?,
        None => None,
    };
    let titles: Vec<&str> = before.labels.iter().map(String::as_str).collect();
    let labels = label::of_titles(connection, target.id, &titles).await?;
    let made = Changed { attributes, labels: Some(labels), commit: None };
    // The job that gives what a deleted user wrote to the ghost account may have passed here already.
    let mut authors = note::authors(connection, before.id).await?;
    authors.push(before.author.id.get());
    let authors = user::keep(connection, &authors).await?;
    let ghost = ghost::find(connection).await?;
    let is_kept = authors.contains(&before.author.id.get());
    let author = ghost.filter(|_| !is_kept).unwrap_or(before.author.id);
    let id = insert(connection, target.id, author, &made, before.created_at, app.clock.now()).await?;
    note::copy(connection, before.id, id, &authors, ghost).await?;
    Ok(id)
}

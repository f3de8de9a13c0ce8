//! Milestones of projects.

use chrono::NaiveDate;
use holdfast_domain::activity::{Action, Audience};
use holdfast_domain::ids::MilestoneId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_MILESTONE_TEXT_BYTES;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_domain::{Field, Violations};
use holdfast_store::activity::event::{self, NewEvent, Subject};
use holdfast_store::planning::milestone::{self, Attributes};
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::planning::milestone::{Filter, Milestone};

use super::issue::Issue;
use super::issue_list::{self, ListIssues};
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the milestones of a project, newest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<Milestone>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadMilestones).await?;
    Ok(milestone::list(&app.database, project.id, filter, page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: MilestoneId) -> Result<Milestone> {
    let mut connection = app.database.connection().await?;
    let project =
        access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadMilestones).await?;
    find(&mut connection, &project, id).await
}

async fn find(connection: &mut Connection, project: &Project, id: MilestoneId) -> Result<Milestone> {
    milestone::find(connection, project.id, id).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Lists the issues of a milestone that the current user can see.
#[crate::boxed]
pub async fn list_issues(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MilestoneId,
    page: PageRequest,
) -> Result<Page<Issue>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadIssues).await?;
    let milestone = find(&mut connection, &project, id).await?;
    let input = ListIssues { milestone: Some(milestone.id), ..ListIssues::default() };
    issue_list::list_for_project(app, &mut connection, actor, &project, input, page).await
}

pub(super) async fn find_by_iid(connection: &mut Connection, project: &Project, iid: i64) -> Result<Milestone> {
    milestone::find_by_iid(connection, project.id, iid).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Returns a project in which the current user may create milestones.
#[crate::boxed]
pub async fn show_project(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Project> {
    access::read_project(app, actor, project, ProjectAction::ManageMilestones).await
}

/// Returns a milestone that the current user may change, by its number within the project.
#[crate::boxed]
pub async fn show_for_update(app: &App, actor: &Actor, project: &ProjectRef, iid: i64) -> Result<(Project, Milestone)> {
    let mut connection = app.database.connection().await?;
    let project =
        access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageMilestones).await?;
    let milestone = find_by_iid(&mut connection, &project, iid).await?;
    Ok((project, milestone))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEvent {
    Close,
    Activate,
}

/// The attributes that a creation or an update sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MilestoneChanges {
    pub title: Option<String>,
    pub description: Field<String>,
    pub start_date: Field<NaiveDate>,
    pub due_date: Field<NaiveDate>,
    pub state_event: Option<StateEvent>,
}

impl MilestoneChanges {
    fn apply(self, current: Attributes) -> Result<Attributes> {
        let mut violations = Violations::default();
        let old_description = current.description.as_deref();
        violations.check_changed_size("description", &self.description, old_description, MAX_MILESTONE_TEXT_BYTES);
        let attributes = Attributes {
            title: self.title.unwrap_or(current.title),
            description: self.description.or_nullable(current.description),
            closed: self.state_event.map_or(current.closed, |event| event == StateEvent::Close),
            start_date: self.start_date.or_nullable(current.start_date),
            due_date: self.due_date.or_nullable(current.due_date),
        };
        if attributes.title.trim().is_empty() {
            violations.add("title", BLANK);
        }
        violations.check_single_line("title", &attributes.title);
        if let (Some(start), Some(due)) = (attributes.start_date, attributes.due_date)
            && due < start
        {
            violations.add("due_date", "must not be before the start date");
        }
        violations.into_result()?;
        Ok(attributes)
    }
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, changes: MilestoneChanges) -> Result<Milestone> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMilestones).await?;
    let blank = Attributes { title: String::new(), description: None, closed: false, start_date: None, due_date: None };
    let attributes = changes.apply(blank)?;
    let inserted = milestone::insert(&mut transaction, project.id, &attributes, app.clock.now()).await;
    let created = map_unique_violation(inserted)?;
    record_and_commit(app, transaction, actor, &project, created, Some(Action::Created)).await
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: MilestoneId,
    changes: MilestoneChanges,
) -> Result<Milestone> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMilestones).await?;
    let before = find(&mut transaction, &project, id).await?;
    save(app, transaction, actor, &project, before, changes).await
}

/// Like [`update`], for a milestone by its number within the project.
#[crate::boxed]
pub async fn update_by_iid(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    iid: i64,
    changes: MilestoneChanges,
) -> Result<Milestone> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMilestones).await?;
    let before = find_by_iid(&mut transaction, &project, iid).await?;
    save(app, transaction, actor, &project, before, changes).await
}

/// Updates a milestone, records an event if its state changed, and commits. The caller holds the lock of the project.
async fn save(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    before: Milestone,
    changes: MilestoneChanges,
) -> Result<Milestone> {
    let (id, was_closed) = (before.id, before.closed);
    let Milestone { title, description, closed, start_date, due_date, .. } = before;
    let attributes = changes.apply(Attributes { title, description, closed, start_date, due_date })?;
    let saved = milestone::update(&mut transaction, project.id, id, &attributes, app.clock.now()).await;
    let saved = map_unique_violation(saved)?;
    let action = match (was_closed, saved.closed) {
        (false, true) => Some(Action::Closed),
        (true, false) => Some(Action::Reopened),
        _ => None,
    };
    record_and_commit(app, transaction, actor, project, saved, action).await
}

/// Deletes a milestone, and returns it as it was before. Its issues and merge requests have no milestone afterwards.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: MilestoneId) -> Result<Milestone> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMilestones).await?;
    let milestone = find(&mut transaction, &project, id).await?;
    milestone::delete(&mut transaction, project.id, milestone.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(milestone)
}

fn map_unique_violation<T>(saved: holdfast_store::Result<T>) -> Result<T> {
    saved.on_constraint("milestones_title_key", || Violations::single("title", TAKEN).into())
}

/// Records an event in the feed, if there is an action, and commits.
async fn record_and_commit(
    app: &App,
    mut transaction: Transaction,
    actor: &Actor,
    project: &Project,
    milestone: Milestone,
    action: Option<Action>,
) -> Result<Milestone> {
    if let Some(action) = action {
        let event = NewEvent {
            project: project.id,
            author: actor.current_user()?.account.id(),
            action,
            subject: Subject::Milestone(milestone.id),
            audience: Audience::Everybody,
        };
        event::record(&mut transaction, event, None, app.clock.now()).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(milestone)
}

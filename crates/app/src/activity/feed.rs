//! Events of projects and users, newest first.

use holdfast_domain::activity::Audience;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_store::accounts::user;
use holdfast_store::activity::feed;

pub use holdfast_store::activity::feed::{Comment, Event, Period};

use crate::accounts::bot::ensure_visible;
use crate::projects::list::viewer;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::refs::ref_address::RefAddresses;
use crate::{Actor, App, Error, Resource, Result, access};

#[crate::boxed]
pub async fn list_for_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<Page<Event>> {
    list_for_project_in(app, actor, project, Period::default(), page).await
}

/// Lists the events of a project that happened in this time.
#[crate::boxed]
pub async fn list_for_project_in(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    period: Period,
    page: PageRequest,
) -> Result<Page<Event>> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    list_for_loaded(app, actor, &project, period, page).await
}

/// The events of a project, with what their page shows.
pub struct ProjectFeed {
    pub project: Project,
    pub events: Page<Event>,
    pub refs: RefAddresses,
}

/// Like [`list_for_project`], but also returns the project and the addresses of its refs.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectFeed> {
    let project = access::read_project(app, actor, project, ProjectAction::Read).await?;
    let events = list_for_loaded(app, actor, &project, Period::default(), page).await?;
    let refs = RefAddresses::load(app, actor, &project).await?;
    Ok(ProjectFeed { project, events, refs })
}

async fn list_for_loaded(
    app: &App,
    actor: &Actor,
    project: &Project,
    period: Period,
    page: PageRequest,
) -> Result<Page<Event>> {
    let max_audience = if access::can(actor, project, ProjectAction::ManageIssues) {
        Audience::IssueManagers
    } else if access::can(actor, project, ProjectAction::ReadCode) {
        Audience::CodeReaders
    } else {
        Audience::Everybody
    };
    Ok(feed::list_for_project(&app.database, project.id, max_audience, period, page).await?)
}

/// Lists the events of a user that the current user may see.
#[crate::boxed]
pub async fn list_for_user(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<Event>> {
    list_for_user_in(app, actor, user, Period::default(), page).await
}

/// Lists what the current user has done in this time.
#[crate::boxed]
pub async fn list_own_in(app: &App, actor: &Actor, period: Period, page: PageRequest) -> Result<Page<Event>> {
    let user = access::authorize_own_account(actor)?.account.id();
    Ok(feed::list_for_user(&app.database, user, viewer(app, actor), period, page).await?)
}

/// Lists the events of a user that the current user may see and that happened in this time.
#[crate::boxed]
pub async fn list_for_user_in(
    app: &App,
    actor: &Actor,
    user: UserId,
    period: Period,
    page: PageRequest,
) -> Result<Page<Event>> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    user::find_with_ghost(&mut connection, user).await?.ok_or(Error::NotFound(Resource::User))?;
    ensure_visible(app, &mut connection, actor, user).await?;
    drop(connection);
    Ok(feed::list_for_user(&app.database, user, viewer(app, actor), period, page).await?)
}

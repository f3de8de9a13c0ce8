//! What happened, newest first.

use holdfast_domain::activity::Audience;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_store::accounts::user;
use holdfast_store::activity::feed;

pub use holdfast_store::activity::feed::{Comment, Event};

use crate::projects::list::reader;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn of_project(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Event>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::Read).await?;
    drop(connection);
    let told = if access::may(actor, &project, ProjectAction::ManageIssues) {
        Audience::IssueManagers
    } else if access::may(actor, &project, ProjectAction::ReadCode) {
        Audience::CodeReaders
    } else {
        Audience::Everybody
    };
    Ok(feed::list_of_project(&app.database, project.id, told, page).await?)
}

/// What the user did in projects that the caller can see, as far as the caller is told.
pub async fn of_user(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<Event>> {
    access::instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    user::find_with_ghost(&mut connection, user).await?.ok_or(Error::NotFound(Thing::User))?;
    drop(connection);
    Ok(feed::list_of_user(&app.database, user, reader(app, actor), page).await?)
}

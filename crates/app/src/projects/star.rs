//! Stars of projects.

use holdfast_domain::policy::ProjectAction;
use holdfast_store::projects::star;

use super::project::{Project, ProjectRef, commit_and_reload};
use crate::{Actor, App, Result, access};

/// Stars a project. Returns None if the current user has starred it already.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Option<Project>> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::Star).await?;
    if !star::insert(&mut transaction, actor.current_user()?.account.id(), project.id, app.clock.now()).await? {
        return Ok(None);
    }
    Ok(Some(commit_and_reload(app, transaction, actor, project.id).await?))
}

/// Removes the current user's star. Returns None if there is none.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Option<Project>> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::Star).await?;
    if !star::delete(&mut transaction, actor.current_user()?.account.id(), project.id).await? {
        return Ok(None);
    }
    Ok(Some(commit_and_reload(app, transaction, actor, project.id).await?))
}

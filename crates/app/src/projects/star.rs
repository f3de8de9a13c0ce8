//! Stars.

use holdfast_domain::policy::ProjectAction;
use holdfast_store::projects::star;

use super::project::{Project, ProjectRef, finish};
use crate::{Actor, App, Result, access};

/// None if it was starred already.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Option<Project>> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::Star).await?;
    if !star::insert(&mut transaction, actor.caller()?.account.id(), project.id, app.clock.now()).await? {
        return Ok(None);
    }
    Ok(Some(finish(app, transaction, actor, project.id).await?))
}

/// None if it was not starred.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Option<Project>> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::Star).await?;
    if !star::delete(&mut transaction, actor.caller()?.account.id(), project.id).await? {
        return Ok(None);
    }
    Ok(Some(finish(app, transaction, actor, project.id).await?))
}

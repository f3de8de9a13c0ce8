//! Starting pipelines from elsewhere: whoever knows the token of a trigger acts for its owner.

use holdfast_domain::Violations;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::pipeline::Pipeline;
use holdfast_store::ci::trigger;
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::trigger::Trigger;

use super::creation::{self, Given};
use super::variable::seal_given;
use crate::accounts::user;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::fetch;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Trigger>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    drop(connection);
    Ok(trigger::list(&app.database, project.id, page).await?)
}

async fn find(connection: &mut Connection, project: &Project, token: &str) -> Result<Trigger> {
    let found = trigger::find(connection, token).await?.filter(|it| it.project_id == project.id);
    found.ok_or(Error::NotFound(Thing::Trigger))
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, token: &str) -> Result<Trigger> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    find(&mut connection, &project, token).await
}

pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, description: Option<&str>) -> Result<Trigger> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let owner = actor.caller()?.account.id();
    let mut violations = Violations::default();
    violations.check_line("description", description.unwrap_or_default());
    violations.into_result()?;
    let token = app.entropy.hex::<15>();
    trigger::insert(&mut transaction, project.id, owner, &token, description, app.clock.now()).await?;
    let made = find(&mut transaction, &project, &token).await?;
    commit(transaction).await?;
    Ok(made)
}

pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, token: &str) -> Result<Trigger> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = find(&mut transaction, &project, token).await?;
    trigger::delete(&mut transaction, found.id).await?;
    commit(transaction).await?;
    Ok(found)
}

/// What the caller gives to the builds.
const MOST_VARIABLES: usize = 100;

/// The token is the right. For its owner, who must still be allowed to.
pub async fn fire(
    app: &App,
    project: &ProjectRef,
    token: &str,
    ref_name: &str,
    variables: &[(String, String)],
) -> Result<(Trigger, Pipeline)> {
    let mut connection = app.database.connection().await?;
    let missing = || Error::NotFound(Thing::Record);
    let trigger = trigger::find(&mut connection, token).await?.ok_or_else(missing)?;
    drop(connection);
    let acting = user::acting(app, trigger.owner_id).await?.ok_or_else(missing)?;
    let opened = match fetch::open(app, &acting, project, ProjectAction::ManageBuilds).await {
        Ok(opened) => opened,
        // A trigger says nothing about other projects than its own.
        Err(Error::NotFound(_) | Error::Forbidden(None)) => return Err(missing()),
        Err(error) => return Err(error),
    };
    if opened.project.id != trigger.project_id {
        return Err(Error::Unauthenticated);
    }
    if variables.len() > MOST_VARIABLES {
        return Err(Error::Refused(format!("There are more than {MOST_VARIABLES} variables")));
    }
    let given = Given { trigger: trigger.id, variables: seal_given(app, trigger.project_id, variables)? };
    let made = match creation::by_name(app, &opened, ref_name, trigger.owner_id, Some(given)).await {
        Err(Error::Invalid(_)) => Err(Error::Refused("No builds created".into())),
        made => made,
    };
    let made = made?;
    trigger::touch(&mut *app.database.connection().await?, trigger.id, app.clock.now()).await?;
    Ok((trigger, made))
}

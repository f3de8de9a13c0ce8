//! What deploy keys may do (ADR 0039).
//!
//! - A deploy key may fetch from the projects that it is linked to. All other projects are not found, also public ones.
//! - A key that is linked with `can_push` may also push there, with the rights of a developer. It pushes on behalf of the
//!   user who added it to the project, and only as long as that user may push.
//! - It may do nothing else.

use std::borrow::Cow;

use holdfast_domain::AccessLevel;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::accounts::user;
use holdfast_store::projects::deploy_key::{self, DeployKeyLink};
use holdfast_store::projects::project::{self, Project, ProjectRef};

use super::check_policy;
use crate::actor::{CurrentUser, DeployKeyActor};
use crate::client::ClientKey;
use crate::{Actor, App, Error, Resource, Result};

const READ_ONLY: &str = "This deploy key may not push to this project";
const USER_MAY_NOT_PUSH: &str = "This deploy key may not push to this project anymore, because the user who added it may not. \
                                 Another master can remove the key and add it again";
const OTHER_ACTION: &str = "A deploy key may only fetch and push";

/// Checks that a deploy key may perform this action on a project. Returns the project with the level of the key.
pub(super) async fn authorize(
    app: &App,
    connection: &mut Connection,
    key: &DeployKeyActor,
    project: Project,
    action: ProjectAction,
) -> Result<Project> {
    let link = find_link(connection, key, &project).await?;
    let level = match action {
        ProjectAction::ReadCode => AccessLevel::Reporter,
        ProjectAction::WriteCode if link.can_push => {
            find_author(app, connection, link, &project).await?;
            AccessLevel::Developer
        }
        ProjectAction::WriteCode => return Err(Error::Forbidden(Some(READ_ONLY))),
        _ => return Err(Error::Forbidden(Some(OTHER_ACTION))),
    };
    Ok(project.with_level(level))
}

/// Returns the user who is recorded as the author of a push to a project: the current user, or the user who added the
/// deploy key to the project.
pub(crate) async fn find_push_author<'a>(
    app: &App,
    actor: &'a Actor,
    project: &Project,
) -> Result<Cow<'a, CurrentUser>> {
    let Actor::DeployKey(key) = actor else { return Ok(Cow::Borrowed(actor.current_user()?)) };
    let mut connection = app.database.connection().await?;
    let link = find_link(&mut connection, key, project).await?;
    if !link.can_push {
        return Err(Error::Forbidden(Some(READ_ONLY)));
    }
    Ok(Cow::Owned(find_author(app, &mut connection, link, project).await?))
}

/// Returns the client that permits of an actor are counted for when it uses a project. A deploy key counts for the user who
/// added it to the project, so that further keys give nobody a larger share of a node.
pub(crate) async fn find_client(app: &App, actor: &Actor, project: &Project) -> Result<ClientKey> {
    let Actor::DeployKey(key) = actor else { return Ok(actor.client()) };
    let link = find_link(&mut *app.database.connection().await?, key, project).await?;
    Ok(link.added_by.map_or_else(|| actor.client(), ClientKey::User))
}

async fn find_link(connection: &mut Connection, key: &DeployKeyActor, project: &Project) -> Result<DeployKeyLink> {
    let link = deploy_key::find_link(connection, project.id, key.id).await?;
    link.ok_or(Error::NotFound(Resource::Project))
}

/// Returns the user who added a deploy key to a project. Fails unless this user is active and may push.
async fn find_author(
    app: &App,
    connection: &mut Connection,
    link: DeployKeyLink,
    project: &Project,
) -> Result<CurrentUser> {
    let may_not_push = || Error::Forbidden(Some(USER_MAY_NOT_PUSH));
    let id = link.added_by.ok_or_else(may_not_push)?;
    let found = user::find(connection, id).await?.filter(user::User::is_active);
    let author = CurrentUser::new(found.ok_or_else(may_not_push)?.account());
    let seen = project::find(connection, &ProjectRef::Id(project.id), Some(id), app.today()).await?;
    let seen = seen.ok_or(Error::NotFound(Resource::Project))?;
    match check_policy(seen, &Actor::User(Box::new(author.clone())), ProjectAction::WriteCode) {
        Ok(_) => Ok(author),
        Err(Error::NotFound(_) | Error::Forbidden(None)) => Err(may_not_push()),
        Err(error) => Err(error),
    }
}

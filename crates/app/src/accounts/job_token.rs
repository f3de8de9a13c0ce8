//! Authentication of running builds by their job tokens.

use holdfast_domain::ids::UserId;
use holdfast_store::accounts::user as store_user;
use holdfast_store::ci::running_build;

use super::secret::digest;
use super::user;
use crate::actor::JobTokenScope;
use crate::{Actor, App, Error, Result};

/// Authenticates a running build by its token.
///
/// - The token is valid while the user who started the build is active. This is the user who retried or played it, or
///   else the user of its pipeline. If that user was deleted, the error says so.
/// - The build has the rights of its pipeline's user, but only to read code and builds, and only in projects that allow
///   it. It is never an administrator.
/// - If the pipeline's user is blocked or deleted, and another user started the build, the build may read its own
///   project and public projects.
pub(super) async fn authenticate(app: &App, token: &str) -> Result<Actor> {
    let running = running_build::find_by_token(&mut *app.database.connection().await?, &digest(token)).await?;
    let running = running.ok_or(Error::Unauthenticated)?;
    let Some(starter) = find_actor(app, running.started_by).await? else {
        // After a 401, git asks for a password and does not show the reason, so the reason is given with a 403.
        return Err(match is_deleted(app, running.started_by).await? {
            true => Error::Forbidden(Some("The user who started this build was deleted. Retry the build")),
            false => Error::Unauthenticated,
        });
    };
    let (user, has_users_rights) = if running.pipeline_user == running.started_by {
        (starter, true)
    } else {
        match find_actor(app, running.pipeline_user).await? {
            Some(user) => (user, true),
            None => (starter, false),
        }
    };
    let Actor::User(mut current_user) = user else { return Err(Error::Unauthenticated) };
    current_user.account.admin = false;
    let scope = JobTokenScope { build: running.id, project: running.project, has_users_rights };
    current_user.job_token_scope = Some(scope);
    Ok(Actor::User(current_user))
}

async fn is_deleted(app: &App, user: Option<UserId>) -> Result<bool> {
    match user {
        Some(id) => Ok(store_user::find(&mut *app.database.connection().await?, id).await?.is_none()),
        None => Ok(true),
    }
}

async fn find_actor(app: &App, user: Option<UserId>) -> Result<Option<Actor>> {
    match user {
        Some(id) => user::actor_for_user(app, id).await,
        None => Ok(None),
    }
}

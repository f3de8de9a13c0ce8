//! Bots: the users of access tokens of projects and groups.

use chrono::TimeDelta;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::{GroupAction, ProjectAction};
use holdfast_store::Connection;
use holdfast_store::accounts::{ghost, user};
use holdfast_store::namespaces::bot::{self, UnusedBot};
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::namespaces::member::MembershipScope;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::projects::star;

use super::user::delete_locked;
use crate::{Actor, App, Error, Resource, Result, access};

/// How long a bot is kept after its tokens have expired or were revoked, so that a list still shows why a script fails.
const RETENTION: TimeDelta = TimeDelta::days(30);
/// Maximum number of bots that one query of the sweep returns.
const BATCH_SIZE: i64 = 100;

/// Fails if the user is a bot that the actor may not see. A bot is seen by those who may read its project or group, and by
/// itself.
pub(crate) async fn ensure_visible(app: &App, connection: &mut Connection, actor: &Actor, user: UserId) -> Result<()> {
    if actor.is_administrator() || actor.user_id() == Some(user) {
        return Ok(());
    }
    let Some(found) = bot::find(connection, user).await? else { return Ok(()) };
    let seen = match found.scope {
        Some(MembershipScope::Project(id)) => {
            let (project, action) = (ProjectRef::Id(id), ProjectAction::Read);
            access::authorize_project(app, connection, actor, &project, action).await.map(drop)
        }
        Some(MembershipScope::Group(id)) => {
            let (group, action) = (GroupRef::Id(id), GroupAction::Read);
            access::authorize_group(app, connection, actor, &group, action).await.map(drop)
        }
        None => Err(Error::NotFound(Resource::User)),
    };
    match seen {
        Err(Error::NotFound(_)) => Err(Error::NotFound(Resource::User)),
        seen => seen,
    }
}

/// Fails if the user is a bot of this project or group, where it is a member as long as it exists.
pub(crate) async fn ensure_no_bot_of(connection: &mut Connection, scope: MembershipScope, user: UserId) -> Result<()> {
    if bot::find(connection, user).await?.is_some_and(|bot| bot.scope == Some(scope)) {
        return Err(Error::Forbidden(Some("This member belongs to an access token: revoke the token instead")));
    }
    Ok(())
}

/// Deletes a bot with its tokens and memberships. What it wrote is reassigned to the ghost account.
pub(crate) async fn delete(app: &App, connection: &mut Connection, bot: UserId) -> Result<()> {
    let now = app.clock.now();
    // This comes first for the same reason as in the deletion of other users.
    ghost::find_or_insert(connection, now).await?;
    let Some(user) = user::lock_bot(connection, bot).await? else { return Ok(()) };
    star::delete_for_user(connection, bot).await?;
    delete_locked(connection, &user, now).await
}

/// Deletes the bots of deleted projects and groups, and those whose tokens became invalid long ago. Their tokens cannot
/// become valid again. If one cannot be deleted, goes on with the others.
pub(crate) async fn delete_unused(app: &App) -> Result<()> {
    let before = app.clock.now() - RETENTION;
    let mut last = UserId::from(0);
    let mut result = Ok(());
    loop {
        let batch = bot::next_unused_batch(&mut *app.database.connection().await?, before, last, BATCH_SIZE).await?;
        match batch.last() {
            Some(newest) => last = newest.id,
            None => return result,
        }
        for UnusedBot { id, is_placeholder } in batch {
            let mut transaction = app.database.begin().await?;
            let deleted = match is_placeholder {
                // Nobody was told of it, and what it wrote was deleted with its project, or is shown as that of the ghost.
                true => user::delete(&mut transaction, id).await.map_err(Error::from),
                false => delete(app, &mut transaction, id).await,
            };
            let deleted = match deleted {
                Ok(()) => holdfast_store::commit(transaction).await.map_err(Error::from),
                Err(error) => Err(error),
            };
            result = result.and(deleted);
        }
    }
}

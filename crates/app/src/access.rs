//! The permission door. A use case gets the thing it works on from here, already checked: what the actor may not see
//! does not exist (404), what it may see but not do is forbidden (403).

use holdfast_domain::policy::{GroupAction, InstanceAction};
use holdfast_store::Connection;
use holdfast_store::namespaces::group::{self, Group, GroupRef};

use crate::actor::Caller;
use crate::{Actor, App, Error, Result, Thing};

pub fn instance(actor: &Actor, action: InstanceAction) -> Result<()> {
    if action.allowed(actor.standing()) { Ok(()) } else { Err(actor.refusal()) }
}

/// The caller's own account.
pub fn account(actor: &Actor) -> Result<&Caller> {
    instance(actor, InstanceAction::ManageOwnAccount)?;
    actor.caller()
}

pub async fn group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<Group> {
    let found = group::find_with_level(connection, group, actor.user_id(), app.today()).await?;
    let (group, level) = found.ok_or(Error::NotFound(Thing::Group))?;
    let allowed = |action: GroupAction| action.allowed(group.visibility, actor.standing(), level);
    if !allowed(GroupAction::Read) {
        return Err(Error::NotFound(Thing::Group));
    }
    if !allowed(action) {
        return Err(actor.refusal());
    }
    Ok(group)
}

/// The same, with the group locked until the end of the transaction: what was allowed when it was asked for is still
/// allowed when it is done, and nobody else changes the group or its members meanwhile.
pub async fn locked_group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<Group> {
    let id = self::group(app, connection, actor, group, action).await?.id;
    group::lock(connection, id).await?;
    self::group(app, connection, actor, &GroupRef::Id(id), action).await
}

//! The permission door. A use case gets the thing it works on from here, already checked: what the actor may not see
//! does not exist (404), what it may see but not do is forbidden (403).

use holdfast_domain::AccessLevel;
use holdfast_domain::policy::{GroupAction, InstanceAction};
use holdfast_store::Connection;
use holdfast_store::namespaces::group::{self, Group, GroupRef};

use crate::{Actor, App, Error, Result, Thing};

pub fn instance(actor: &Actor, action: InstanceAction) -> Result<()> {
    if action.allowed(actor.standing()) { Ok(()) } else { Err(actor.refusal()) }
}

/// A group on which the action was allowed.
#[derive(Debug)]
pub struct GrantedGroup {
    pub group: Group,
    /// The actor's own membership.
    pub level: Option<AccessLevel>,
}

pub async fn group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<GrantedGroup> {
    let found = group::find_with_level(connection, group, actor.user_id(), app.today()).await?;
    let (group, level) = found.ok_or(Error::NotFound(Thing::Group))?;
    let allowed = |action: GroupAction| action.allowed(group.visibility, actor.standing(), level);
    if !allowed(GroupAction::Read) {
        return Err(Error::NotFound(Thing::Group));
    }
    if !allowed(action) {
        return Err(actor.refusal());
    }
    Ok(GrantedGroup { group, level })
}

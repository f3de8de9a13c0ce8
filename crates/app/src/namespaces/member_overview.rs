//! The members of a group with everything that their page shows.

use holdfast_domain::AccessLevel;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::GroupAction;
use holdfast_store::Connection;
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::bot;
use holdfast_store::namespaces::member::{self, MembershipScope};

use super::access_request::AccessRequest;
use super::group::{Group, GroupRef};
use super::member::{Member, MemberFilter, is_last_owner};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of access requests on the page of members. When they are decided, the page shows the others.
pub const MAX_SHOWN_REQUESTS: i64 = 50;

/// The members of a group, with what their page shows.
#[derive(Debug)]
pub struct GroupMembers {
    pub group: Group,
    /// The level of the current user in the group.
    pub level: Option<AccessLevel>,
    pub members: Page<Member>,
    /// The first [`MAX_SHOWN_REQUESTS`], if the current user may decide about them.
    pub requests: Option<Page<AccessRequest>>,
    /// Whether the current user may not leave, because the group would have no owner.
    pub is_last_owner: bool,
}

/// Returns the members of a group, with what their page shows.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, group: &GroupRef, page: PageRequest) -> Result<GroupMembers> {
    let mut connection = app.database.connection().await?;
    let (group, level) =
        access::authorize_group_with_level(app, &mut connection, actor, group, GroupAction::ReadMembers).await?;
    let is_last_owner = match (actor.user_id(), level) {
        (Some(user), Some(level)) => is_last_owner(&mut connection, group.id, user, level).await?,
        _ => false,
    };
    drop(connection);
    let scope = MembershipScope::Group(group.id);
    let members = member::list(&app.database, scope, &MemberFilter::default(), page, app.today()).await?;
    let requests = match access::is_authorized_in_group(actor, &group, level, GroupAction::ManageMembers) {
        true => Some(list_requests(app, scope).await?),
        false => None,
    };
    Ok(GroupMembers { group, level, members, requests, is_last_owner })
}

/// Returns the first access requests of a group or a project.
pub(crate) async fn list_requests(app: &App, scope: MembershipScope) -> Result<Page<AccessRequest>> {
    Ok(access_request::list(&app.database, scope, PageRequest::new(None, Some(MAX_SHOWN_REQUESTS))).await?)
}

/// A member whose membership the current user may change.
#[derive(Debug)]
pub struct GroupMember {
    pub group: Group,
    pub level: Option<AccessLevel>,
    pub member: Member,
    /// Whether the member is the user of an access token, which is removed only with the token.
    pub is_bot: bool,
    /// Whether neither the level nor the membership can end, because the group would have no owner.
    pub is_last_owner: bool,
}

/// Returns a member to an actor who may change the membership.
#[crate::boxed]
pub async fn show_member(app: &App, actor: &Actor, group: &GroupRef, user: UserId) -> Result<GroupMember> {
    let mut connection = app.database.connection().await?;
    let (group, level) =
        access::authorize_group_with_level(app, &mut connection, actor, group, GroupAction::ManageMembers).await?;
    let scope = MembershipScope::Group(group.id);
    let member = member::find(&mut connection, scope, user, app.today()).await?;
    let member = member.ok_or(Error::NotFound(Resource::Record))?;
    let is_bot = is_bot_of(&mut connection, scope, user).await?;
    let is_last_owner = is_last_owner(&mut connection, group.id, user, member.access_level).await?;
    Ok(GroupMember { group, level, member, is_bot, is_last_owner })
}

/// Returns whether the user belongs to an access token of this group or project.
pub(crate) async fn is_bot_of(connection: &mut Connection, scope: MembershipScope, user: UserId) -> Result<bool> {
    Ok(bot::find(connection, user).await?.is_some_and(|bot| bot.scope == Some(scope)))
}

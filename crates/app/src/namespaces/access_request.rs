//! Requests of users to become members of a group.

use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::GroupAction;
use holdfast_domain::{AccessLevel, Field};
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::namespaces::member::{self, MembershipScope};

pub use holdfast_store::namespaces::access_request::AccessRequest;

use super::member::{Member, Membership};
use crate::{Actor, App, Error, Resource, Result, access};

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, group: &GroupRef, page: PageRequest) -> Result<Page<AccessRequest>> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ManageMembers).await?;
    drop(connection);
    Ok(access_request::list(&app.database, MembershipScope::Group(group.id), page).await?)
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, group: &GroupRef) -> Result<AccessRequest> {
    let mut transaction = app.database.begin().await?;
    let group = access::lock_group(app, &mut transaction, actor, group, GroupAction::RequestAccess).await?;
    let scope = MembershipScope::Group(group.id);
    let user = &actor.current_user()?.account;
    let is_member = member::find(&mut transaction, scope, user.id(), app.today()).await?.is_some();
    if is_member || !group.request_access_enabled {
        return Err(Error::Forbidden(None));
    }
    let now = app.clock.now();
    if !access_request::insert(&mut transaction, scope, user.id(), now).await? {
        return Err(Error::Rejected("Access was requested already".into()));
    }
    holdfast_store::commit(transaction).await?;
    Ok(AccessRequest { user: user.summary.clone(), requested_at: now })
}

/// Approves an access request: the requester becomes a member.
#[crate::boxed]
pub async fn approve(app: &App, actor: &Actor, group: &GroupRef, user: UserId, level: Option<i64>) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let group = access::lock_group(app, &mut transaction, actor, group, GroupAction::ManageMembers).await?;
    let access_level = level.unwrap_or(AccessLevel::Developer.as_i16().into());
    let level = Membership { access_level, expires_at: Field::Absent }.check(app.today())?;
    if access_request::delete(&mut transaction, MembershipScope::Group(group.id), user).await?.is_none() {
        return Err(Error::NotFound(Resource::Record));
    }
    super::member::add_and_publish(app, transaction, &group, user, level, None).await
}

/// Deletes an access request. Requesters can delete their own; others need the permission to manage members.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, group: &GroupRef, user: UserId) -> Result<()> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { GroupAction::RequestAccess } else { GroupAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let group = access::authorize_group(app, &mut transaction, actor, group, needed).await?;
    if access_request::delete(&mut transaction, MembershipScope::Group(group.id), user).await?.is_none() {
        return Err(Error::NotFound(Resource::Record));
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

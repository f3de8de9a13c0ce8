//! Members of groups.

use chrono::NaiveDate;
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::GroupAction;
use holdfast_domain::{AccessLevel, Field, Violations};
use holdfast_store::accounts::user;
use holdfast_store::activity::event;
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::namespaces::member::{Member, MemberFilter};

use crate::accounts::bot::{ensure_no_bot_of, ensure_visible};
use crate::{Actor, App, Error, Resource, Result, access, events};

#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    query: Option<&str>,
    page: PageRequest,
) -> Result<Page<Member>> {
    let filter = MemberFilter { search: query.map(str::to_owned), ..MemberFilter::default() };
    list_filtered(app, actor, group, &filter, page).await
}

#[crate::boxed]
pub async fn list_filtered(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    filter: &MemberFilter,
    page: PageRequest,
) -> Result<Page<Member>> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ReadMembers).await?;
    drop(connection);
    Ok(member::list(&app.database, MembershipScope::Group(group.id), filter, page, app.today()).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, group: &GroupRef, user: UserId) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ReadMembers).await?;
    let found = member::find(&mut connection, MembershipScope::Group(group.id), user, app.today()).await?;
    found.ok_or(Error::NotFound(Resource::Record))
}

/// An access level as it was sent, and the first day on which the membership is no longer valid.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    pub access_level: i64,
    pub expires_at: Field<NaiveDate>,
}

impl Membership {
    pub(crate) fn check(self, today: NaiveDate) -> Result<AccessLevel> {
        if self.expires_at.value().is_some_and(|end| end <= today) {
            return Err(Violations::single("expires_at", "must be a day to come").into());
        }
        self.access_level.try_into().map_err(|_| Error::Unprocessable("Access level is not known"))
    }
}

#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let group = access::lock_group(app, &mut transaction, actor, group, GroupAction::ManageMembers).await?;
    let level = membership.check(app.today())?;
    if user::find(&mut transaction, user).await?.is_none() {
        return Err(Error::NotFound(Resource::User));
    }
    ensure_visible(app, &mut transaction, actor, user).await?;
    if member::find(&mut transaction, MembershipScope::Group(group.id), user, app.today()).await?.is_some() {
        return Err(Error::Conflict("Member already exists".into()));
    }
    add_and_publish(app, transaction, &group, user, level, membership.expires_at.value()).await
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let group = access::lock_group(app, &mut transaction, actor, group, GroupAction::ManageMembers).await?;
    let level = membership.check(app.today())?;
    let before = member::find(&mut transaction, MembershipScope::Group(group.id), user, app.today()).await?;
    let before = before.ok_or(Error::NotFound(Resource::Record))?;
    let expires_at = membership.expires_at.or_nullable(before.expires_at);
    if expires_at.is_some() {
        ensure_no_bot_of(&mut transaction, MembershipScope::Group(group.id), user).await?;
    }
    if level < AccessLevel::Owner || expires_at.is_some() {
        ensure_owner_remains(&mut transaction, group.id, &before).await?;
    }
    let member = save(app, &mut transaction, group.id, user, level, expires_at).await?;
    commit(transaction).await?;
    Ok(member)
}

/// Removes a member. Members can remove themselves; others need the permission to manage members.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, group: &GroupRef, user: UserId) -> Result<Member> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { GroupAction::ReadMembers } else { GroupAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let group = access::lock_group(app, &mut transaction, actor, group, needed).await?;
    let before = member::find(&mut transaction, MembershipScope::Group(group.id), user, app.today()).await?;
    let before = before.ok_or(Error::NotFound(Resource::Member(user.get())))?;
    ensure_no_bot_of(&mut transaction, MembershipScope::Group(group.id), user).await?;
    ensure_owner_remains(&mut transaction, group.id, &before).await?;
    member::delete(&mut transaction, MembershipScope::Group(group.id), user).await?;
    let now = app.clock.now();
    let outbox_event = events::group::member_removed(&group, &before.user, before.access_level, before.created_at, now);
    event::publish(&mut transaction, None, &outbox_event, now).await?;
    commit(transaction).await?;
    Ok(before)
}

/// Fails if the member is an owner and no other user owns the group through a membership without an expiry date.
async fn ensure_owner_remains(connection: &mut Connection, group: NamespaceId, member: &Member) -> Result<()> {
    let is_owner = member.access_level == AccessLevel::Owner;
    if is_owner && !member::has_other_permanent_owner(connection, group, member.user.id).await? {
        return Err(Error::Forbidden(Some("A group must have at least one owner")));
    }
    Ok(())
}

/// Adds a member, publishes an event and commits. Also deletes the user's access request.
pub(crate) async fn add_and_publish(
    app: &App,
    mut transaction: Transaction,
    group: &Group,
    user: UserId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
) -> Result<Member> {
    let member = save(app, &mut transaction, group.id, user, level, expires_at).await?;
    let now = app.clock.now();
    event::publish(&mut transaction, None, &events::group::member_added(group, &member.user, level, now), now).await?;
    commit(transaction).await?;
    Ok(member)
}

async fn save(
    app: &App,
    connection: &mut Connection,
    group: NamespaceId,
    user: UserId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
) -> Result<Member> {
    let scope = MembershipScope::Group(group);
    member::upsert(connection, scope, user, level, expires_at, app.clock.now()).await?;
    access_request::delete(connection, scope, user).await?;
    let saved = member::find(connection, scope, user, app.today()).await?;
    saved.ok_or(Error::NotFound(Resource::Record))
}

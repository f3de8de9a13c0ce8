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
use holdfast_store::namespaces::member::{self, Source};
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::namespaces::member::Member;

use super::notice;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    query: Option<&str>,
    page: PageRequest,
) -> Result<Page<Member>> {
    let mut connection = app.database.connection().await?;
    let group = access::group(app, &mut connection, actor, group, GroupAction::ReadMembers).await?;
    drop(connection);
    Ok(member::list(&app.database, Source::Group(group.id), query, page, app.today()).await?)
}

pub async fn show(app: &App, actor: &Actor, group: &GroupRef, user: UserId) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let group = access::group(app, &mut connection, actor, group, GroupAction::ReadMembers).await?;
    let found = member::find(&mut connection, Source::Group(group.id), user, app.today()).await?;
    found.ok_or(Error::NotFound(Thing::Record))
}

/// A level as it was sent, and the first day without it.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    pub access_level: i64,
    pub expires_at: Field<NaiveDate>,
}

impl Membership {
    pub(crate) fn check(self, today: NaiveDate) -> Result<AccessLevel> {
        if self.expires_at.value().is_some_and(|end| end <= today) {
            return Err(Violations::of("expires_at", "must be a day to come").into());
        }
        self.access_level.try_into().map_err(|_| Error::Unprocessable("Access level is not known"))
    }
}

pub async fn create(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let group = access::locked_group(app, &mut transaction, actor, group, GroupAction::ManageMembers).await?;
    let level = membership.check(app.today())?;
    if user::find(&mut transaction, user).await?.is_none() {
        return Err(Error::NotFound(Thing::User));
    }
    if member::find(&mut transaction, Source::Group(group.id), user, app.today()).await?.is_some() {
        return Err(Error::Conflict("Member already exists".into()));
    }
    join(app, transaction, &group, user, level, membership.expires_at.value()).await
}

pub async fn update(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let group = access::locked_group(app, &mut transaction, actor, group, GroupAction::ManageMembers).await?;
    let level = membership.check(app.today())?;
    let before = member::find(&mut transaction, Source::Group(group.id), user, app.today()).await?;
    let before = before.ok_or(Error::NotFound(Thing::Record))?;
    let expires_at = membership.expires_at.or_nullable(before.expires_at);
    if level < AccessLevel::Owner || expires_at.is_some() {
        keep_an_owner(&mut transaction, group.id, &before).await?;
    }
    let member = save(app, &mut transaction, group.id, user, level, expires_at).await?;
    commit(transaction).await?;
    Ok(member)
}

/// Everybody may leave; others are removed by who manages members.
pub async fn delete(app: &App, actor: &Actor, group: &GroupRef, user: UserId) -> Result<Member> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { GroupAction::ReadMembers } else { GroupAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let group = access::locked_group(app, &mut transaction, actor, group, needed).await?;
    let before = member::find(&mut transaction, Source::Group(group.id), user, app.today()).await?;
    let before = before.ok_or(Error::NotFound(Thing::Member(user.get())))?;
    keep_an_owner(&mut transaction, group.id, &before).await?;
    member::delete(&mut transaction, Source::Group(group.id), user).await?;
    let now = app.clock.now();
    event::tell(&mut transaction, None, &notice::left(&group, &before, now), now).await?;
    commit(transaction).await?;
    Ok(before)
}

/// A group is never left without an owner whose membership has no end.
async fn keep_an_owner(connection: &mut Connection, group: NamespaceId, member: &Member) -> Result<()> {
    let is_owner = member.access_level == AccessLevel::Owner;
    if is_owner && !member::has_other_owner(connection, group, member.user.id).await? {
        return Err(Error::Forbidden(Some("The last owner of a group stays its owner")));
    }
    Ok(())
}

/// A new member. A request of its own for access is fulfilled by it.
pub(super) async fn join(
    app: &App,
    mut transaction: Transaction,
    group: &Group,
    user: UserId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
) -> Result<Member> {
    let member = save(app, &mut transaction, group.id, user, level, expires_at).await?;
    let now = app.clock.now();
    event::tell(&mut transaction, None, &notice::joined(group, &member, now), now).await?;
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
    let source = Source::Group(group);
    member::upsert(connection, source, user, level, expires_at, app.clock.now()).await?;
    access_request::delete(connection, source, user).await?;
    let saved = member::find(connection, source, user, app.today()).await?;
    saved.ok_or(Error::NotFound(Thing::Record))
}

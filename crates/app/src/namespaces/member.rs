//! Members of groups.

use chrono::NaiveDate;
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::GroupAction;
use holdfast_domain::violations::BLANK;
use holdfast_domain::{AccessLevel, Field, Violations, parse_date};
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
#[derive(Clone, Copy, Debug, Default)]
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

/// A membership as a form sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembershipInput {
    pub access_level: i64,
    /// The first day on which the membership is no longer valid, or an empty text for none.
    pub expires_at: String,
}

impl MembershipInput {
    /// Returns the membership, in which an empty date removes the expiry date, or the error about the date.
    pub(crate) fn parse(&self) -> std::result::Result<Membership, String> {
        let expires_at = match self.expires_at.trim() {
            "" => Field::Null,
            text => Field::Value(parse_date(text).ok_or("is not a date such as 2027-01-31")?),
        };
        Ok(Membership { access_level: self.access_level, expires_at })
    }
}

/// A user and a membership as a form sends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMemberInput {
    pub username: String,
    pub membership: MembershipInput,
}

impl NewMemberInput {
    /// Finds the user. Fails if there is none that the actor may see, or if the membership is invalid.
    pub(crate) async fn find_user(
        &self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
    ) -> Result<(UserId, Membership)> {
        let mut violations = Violations::default();
        let user = find_by_username(app, connection, actor, self.username.trim()).await?;
        let user = violations.check("username", user);
        let membership = violations.check("expires_at", self.membership.parse());
        match (user, membership) {
            (Some(user), Some(membership)) => Ok((user, membership)),
            _ => Err(violations.into()),
        }
    }
}

/// Returns the user with this name, or the error about it.
async fn find_by_username(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    username: &str,
) -> Result<std::result::Result<UserId, String>> {
    let username = username.strip_prefix('@').unwrap_or(username);
    if username.is_empty() {
        return Ok(Err(BLANK.to_owned()));
    }
    let missing = || Ok(Err("is not the name of a user".to_owned()));
    let Some(user) = user::find_by_username(connection, username).await? else { return missing() };
    let id = user.account().id();
    match ensure_visible(app, connection, actor, id).await {
        Ok(()) => Ok(Ok(id)),
        Err(Error::NotFound(Resource::User)) => missing(),
        Err(error) => Err(error),
    }
}

/// Returns the errors of a form that adds a member as messages about its fields.
pub(crate) fn map_form_error(error: Error) -> Error {
    match error {
        Error::Conflict(_) => Violations::single("username", "is a member already").into(),
        Error::NotFound(Resource::User) => Violations::single("username", "is not the name of a user").into(),
        other => other,
    }
}

/// Adds the member that a form names. An invalid form is reported only to actors who may add members.
#[crate::boxed]
pub async fn add_by_username(app: &App, actor: &Actor, group: &GroupRef, input: &NewMemberInput) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ManageMembers).await?;
    let (user, membership) = input.find_user(app, &mut connection, actor).await?;
    drop(connection);
    create(app, actor, &GroupRef::Id(group.id), user, membership).await.map_err(map_form_error)
}

/// Changes level and expiry date of a member as a form asks for. An invalid form is reported only to actors who may
/// change members.
#[crate::boxed]
pub async fn save_form(
    app: &App,
    actor: &Actor,
    group: &GroupRef,
    user: UserId,
    input: &MembershipInput,
) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ManageMembers).await?;
    let scope = MembershipScope::Group(group.id);
    if member::find(&mut connection, scope, user, app.today()).await?.is_none() {
        return Err(Error::NotFound(Resource::Record));
    }
    drop(connection);
    let membership = input.parse().map_err(|message| Violations::single("expires_at", message))?;
    update(app, actor, &GroupRef::Id(group.id), user, membership).await
}

/// Removes the current user from the members of a group. Returns false, and changes nothing, if the user is not a member
/// or has another name than the form says: it was shown to another user of the same browser.
#[crate::boxed]
pub async fn leave(app: &App, actor: &Actor, group: &GroupRef, username: &str) -> Result<bool> {
    let mut connection = app.database.connection().await?;
    let group = access::authorize_group(app, &mut connection, actor, group, GroupAction::ReadMembers).await?;
    drop(connection);
    let user = &actor.current_user()?.account.summary;
    if user.username != username {
        return Ok(false);
    }
    match delete(app, actor, &GroupRef::Id(group.id), user.id).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound(Resource::Member(_))) => Ok(false),
        Err(error) => Err(error),
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
    match is_last_owner(connection, group, member.user.id, member.access_level).await? {
        true => Err(Error::Forbidden(Some("A group must have at least one owner"))),
        false => Ok(()),
    }
}

/// Returns whether a user with this level is an owner and no other user owns the group through a membership without an
/// expiry date.
pub(super) async fn is_last_owner(
    connection: &mut Connection,
    group: NamespaceId,
    user: UserId,
    level: AccessLevel,
) -> Result<bool> {
    Ok(level == AccessLevel::Owner && !member::has_other_permanent_owner(connection, group, user).await?)
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

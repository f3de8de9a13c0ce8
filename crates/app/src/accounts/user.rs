//! Users.

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::{UserState, password};
use holdfast_domain::ids::{BrowserSessionId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_domain::{Field, Violations};
use holdfast_store::Connection;
use holdfast_store::accounts::identity::{self, Identity};
use holdfast_store::accounts::user::{self, Attributes};
use holdfast_store::accounts::{browser_session, email, ghost, token};
use holdfast_store::activity::event;
use holdfast_store::namespaces::{group, namespace};
use holdfast_store::projects::star;
use holdfast_store::worker::removal;

pub use holdfast_store::accounts::user::{Filter, Order, User, UserSummary};

pub use super::user_changes::{ProfileChanges, UserChanges};

use super::bot;
use super::session::{WRONG_PASSWORD, verify_current_password};
use super::user_changes::{ValidatedChanges, current_attributes};
use crate::actor::CurrentUser;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Resource, Result, access, events};

/// Like [`list_in_order`], with the users who were created last first.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, filter: Filter, page: PageRequest) -> Result<Page<User>> {
    list_in_order(app, actor, filter, Order::Id { descending: true }, page).await
}

/// Lists the users that fulfill a filter, for everybody who is signed in. Only administrators can select external users;
/// for others that filter is ignored. With a username, all other filters are ignored.
#[crate::boxed]
pub async fn list_in_order(
    app: &App,
    actor: &Actor,
    filter: Filter,
    order: Order,
    page: PageRequest,
) -> Result<Page<User>> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    // Only administrators may see which users are external.
    let filter = Filter { external: filter.external && actor.is_administrator(), ..filter };
    // A username selects at most one user, so the other filters are ignored.
    let filter = match filter.username {
        Some(_) => Filter { username: filter.username, ..Filter::default() },
        None => filter,
    };
    Ok(user::list(&app.database, &filter, order, page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, id: UserId) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    let found = user::find_with_ghost(&mut connection, id).await?;
    visible(app, &mut connection, actor, found).await
}

/// Returns a user that was found, unless it is a bot that the actor may not see.
async fn visible(app: &App, connection: &mut Connection, actor: &Actor, found: Option<User>) -> Result<User> {
    let user = found.ok_or(Error::NotFound(Resource::User))?;
    if user.bot {
        bot::ensure_visible(app, connection, actor, user.id).await?;
    }
    Ok(user)
}

/// Returns the current user. Needs no query if authentication has loaded the profile.
#[crate::boxed]
pub async fn show_own(app: &App, actor: &Actor) -> Result<User> {
    let current_user = access::authorize_own_account(actor)?;
    match &current_user.profile {
        Some(profile) => Ok((**profile).clone()),
        None => {
            let found = user::find(&mut *app.database.connection().await?, current_user.account.id()).await?;
            found.ok_or(Error::NotFound(Resource::User))
        }
    }
}

/// Finds a user, a bot or the ghost account by username, for its page: the names of authors link there.
#[crate::boxed]
pub async fn show_profile(app: &App, actor: &Actor, username: &str) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    let found = user::find_by_username_with_ghost(&mut connection, username).await?;
    visible(app, &mut connection, actor, found).await
}

/// Finds a user by username, in any case. The ghost account is not found.
#[crate::boxed]
pub async fn show_by_username(app: &App, actor: &Actor, username: &str) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let mut connection = app.database.connection().await?;
    let found = user::find_by_username(&mut connection, username).await?;
    visible(app, &mut connection, actor, found).await
}

/// Finds a user whose account can be managed. Bots are managed by their tokens.
pub(super) async fn find_existing(app: &App, id: UserId) -> Result<User> {
    let found = user::find(&mut *app.database.connection().await?, id).await?;
    found.filter(|user| !user.bot).ok_or(Error::NotFound(Resource::User))
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, changes: UserChanges) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    access::ensure_may_create_credentials(actor)?;
    let new_user = changes.apply(blank_attributes(app))?;
    let Some(password) = &new_user.password else { return Err(Violations::single("password", BLANK).into()) };
    let hash = app.hash_password(password).await?;
    let mut transaction = app.database.begin().await?;
    let user = insert_validated(&mut transaction, &new_user, &hash, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// Returns the attributes that a new user has unless they are set.
pub(super) fn blank_attributes(app: &App) -> Attributes {
    Attributes {
        username: String::new(),
        name: String::new(),
        email: String::new(),
        admin: false,
        external: false,
        can_create_group: app.settings.can_create_group,
        projects_limit: app.settings.projects_limit,
        bio: None,
        location: None,
        skype: String::new(),
        linkedin: String::new(),
        twitter: String::new(),
        website_url: String::new(),
        organization: String::new(),
    }
}

/// Inserts a user with this hash of the password, and the user's namespace, and publishes the event.
pub(super) async fn insert_validated(
    connection: &mut Connection,
    new_user: &ValidatedChanges,
    hash: &str,
    now: DateTime<Utc>,
) -> Result<User> {
    let attributes = &new_user.attributes;
    // The address is checked before the username: if both are taken, the error names the address.
    if email::is_primary(connection, &attributes.email).await? {
        return Err(email_taken());
    }
    let id =
        user::insert(connection, attributes, hash, now).await.on_constraint("users_username_key", username_taken)?;
    email::insert(connection, id, &attributes.email, true, now).await.on_constraint("emails_email_key", email_taken)?;
    let path_taken = || Violations::single("username", TAKEN).into();
    namespace::insert_for_user(connection, id, &attributes.username, now)
        .await
        .on_constraint("namespaces_path_key", path_taken)
        .on_constraint("namespaces_name_key", path_taken)?;
    if let Some(identity) = &new_user.identity {
        upsert_identity(connection, id, identity).await?;
    }
    let user = user::find(connection, id).await?.ok_or(Error::NotFound(Resource::User))?;
    event::publish(connection, None, &events::account::user_created(&user), now).await?;
    Ok(user)
}

/// Creates a user with a password that nobody knows. The user can sign in after an administrator has set another one.
#[crate::boxed]
pub async fn create_with_random_password(app: &App, actor: &Actor, changes: UserChanges) -> Result<User> {
    let password = Field::Value(app.new_secret(""));
    create(app, actor, UserChanges { password, ..changes }).await
}

/// Deletes the session tokens of a user, and the browser sessions except `kept`. Personal tokens stay valid.
async fn end_sessions(connection: &mut Connection, id: UserId, kept: Option<BrowserSessionId>) -> Result<()> {
    token::delete_sessions(connection, id).await?;
    Ok(browser_session::delete_all_for_user(connection, id, kept).await?)
}

/// Updates the attributes of a user. A new password deletes the user's sessions; personal tokens stay valid.
#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, id: UserId, changes: UserChanges) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let new_password = changes.password.clone().value();
    if new_password.is_some() {
        access::ensure_may_create_credentials(actor)?;
    }
    let hash = match new_password.filter(|password| password::check(password, &[]).is_ok()) {
        Some(password) => Some(app.hash_password(&password).await?),
        None => None,
    };
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let before = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    let ValidatedChanges { attributes, identity, .. } = changes.apply(current_attributes(&before))?;
    user::update(&mut transaction, id, &attributes, now).await.on_constraint("users_username_key", username_taken)?;
    namespace::rename_for_user(&mut transaction, id, &attributes.username, now)
        .await
        .on_constraint("namespaces_path_key", username_taken)
        .on_constraint("namespaces_name_key", username_taken)?;
    if attributes.email != before.email {
        email::set_primary(&mut transaction, id, &attributes.email)
            .await
            .on_constraint("emails_email_key", email_taken)?;
    }
    if let Some(hash) = hash {
        user::update_password(&mut transaction, id, &hash, now).await?;
        end_sessions(&mut transaction, id, None).await?;
    }
    if let Some(identity) = &identity {
        upsert_identity(&mut transaction, id, identity).await?;
    }
    let user = user::find(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// Updates the profile of the current user.
#[crate::boxed]
pub async fn update_own(app: &App, actor: &Actor, changes: ProfileChanges) -> Result<User> {
    let id = access::authorize_own_account(actor)?.account.id();
    let mut transaction = app.database.begin().await?;
    let before = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    let ValidatedChanges { attributes, .. } = UserChanges::from(changes).apply(current_attributes(&before))?;
    user::update(&mut transaction, id, &attributes, app.clock.now()).await?;
    let user = user::find(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// A new password for the current user.
#[derive(Clone, Copy)]
pub struct ChangePassword<'a> {
    pub current_password: &'a str,
    pub new_password: &'a str,
    /// The browser session that changes the password. It stays valid.
    pub session: Option<BrowserSessionId>,
}

/// Changes the password of the current user, and ends all other sessions. Personal tokens stay valid. The current
/// password counts as an attempt to sign in.
#[crate::boxed]
pub async fn change_own_password<'a>(app: &'a App, actor: &'a Actor, input: ChangePassword<'a>) -> Result<()> {
    let account = &access::authorize_own_account(actor)?.account;
    let user = &account.summary;
    let old_hash = verify_current_password(app, user, "current_password", input.current_password).await?;
    password::check(input.new_password, &[&user.username, &user.name, &user.email])
        .map_err(|problem| Violations::single("new_password", problem))?;
    let new_hash = app.hash_password(input.new_password).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    user::lock(&mut transaction, user.id).await?.ok_or(Error::NotFound(Resource::User))?;
    if user::password_hash(&mut transaction, user.id).await? != Some(old_hash) {
        // The password was changed while it was being verified.
        return Err(Violations::single("current_password", WRONG_PASSWORD).into());
    }
    user::update_password(&mut transaction, user.id, &new_hash, now).await?;
    end_sessions(&mut transaction, user.id, input.session).await?;
    if let Some(session) = input.session {
        browser_session::confirm(&mut transaction, user.id, session, now).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// Sets a new password and deletes the user's sessions.
#[crate::boxed]
pub async fn reset_password(app: &App, actor: &Actor, id: UserId, new_password: &str) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    access::ensure_may_create_credentials(actor)?;
    let problem = |problem| Violations::single("password", problem);
    password::check(new_password, &[]).map_err(problem)?;
    let hash = app.hash_password(new_password).await?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    password::check(new_password, &[&user.username, &user.name, &user.email]).map_err(problem)?;
    user::update_password(&mut transaction, id, &hash, app.clock.now()).await?;
    end_sessions(&mut transaction, id, None).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// Deletes a user and the projects in the user's namespace. Issues, notes and events of the user elsewhere are
/// reassigned to the ghost account. Returns None if there is no such user.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, id: UserId) -> Result<Option<User>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    // This comes first, so that two concurrent deletions that create the ghost account wait for each other before they
    // lock anything else.
    ghost::find_or_insert(&mut transaction, now).await?;
    let Some(user) = user::lock(&mut transaction, id).await? else { return Ok(None) };
    let orphans = group::lock_solely_owned_by(&mut transaction, id).await?;
    if !orphans.is_empty() {
        return Err(Error::Conflict(format!(
            "{} is the only owner of: {}. Transfer the ownership or delete these groups first.",
            user.username,
            orphans.join(", ")
        )));
    }
    star::delete_for_user(&mut transaction, id).await?;
    if let Some(namespace_id) = namespace::find_id_for_user(&mut transaction, id).await? {
        group::lock_exclusive(&mut transaction, namespace_id).await?;
        removal::lock_projects(&mut transaction, namespace_id).await?;
        events::removal::publish_for_namespace(&mut transaction, namespace_id, now).await?;
        removal::detach_namespace(&mut transaction, namespace_id, &format!("user {}", user.username), now).await?;
    }
    delete_locked(&mut transaction, &user, now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(user))
}

/// Deletes a user without stars and without a namespace. The caller has locked the user, and has made sure that the ghost
/// account exists.
pub(super) async fn delete_locked(connection: &mut Connection, user: &User, now: DateTime<Utc>) -> Result<()> {
    // This comes after the locks of the projects: a request that holds one of them may be about to refer to the user.
    user::lock_exclusive(connection, user.id).await?;
    events::removal::publish_for_user(connection, user, now).await?;
    removal::enqueue_reassign_author(connection, user.id, &format!("what {} wrote", user.username), now).await?;
    user::delete(connection, user.id).await?;
    Ok(event::publish(connection, None, &events::account::user_destroyed(user), now).await?)
}

/// Blocks a user. Returns false if the user is blocked already.
#[crate::boxed]
pub async fn block(app: &App, actor: &Actor, id: UserId) -> Result<bool> {
    const REFUSAL: &str = "LDAP blocked users cannot be modified by the API";
    set_state(app, actor, id, UserState::Blocked, REFUSAL).await
}

/// Unblocks a user. Returns false if the user is active already.
#[crate::boxed]
pub async fn unblock(app: &App, actor: &Actor, id: UserId) -> Result<bool> {
    const REFUSAL: &str = "LDAP blocked users cannot be unblocked by the API";
    set_state(app, actor, id, UserState::Active, REFUSAL).await
}

async fn set_state(
    app: &App,
    actor: &Actor,
    id: UserId,
    new_state: UserState,
    rejection: &'static str,
) -> Result<bool> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    if user.state == UserState::DirectoryBlocked {
        return Err(Error::Forbidden(Some(rejection)));
    }
    if user.state == new_state {
        return Ok(false);
    }
    user::update_state(&mut transaction, id, new_state, app.clock.now()).await?;
    if new_state != UserState::Active {
        // Tokens work again when the block is lifted; browsers have to sign in again.
        browser_session::delete_all_for_user(&mut transaction, id, None).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(true)
}

/// Sets or lifts the block of an account by a directory such as LDAP. It overrides the state that users have set, and
/// lifts no block but its own. Returns whether the state changed.
#[crate::boxed]
pub async fn set_directory_block(app: &App, actor: &Actor, id: UserId, is_blocked: bool) -> Result<bool> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    if is_blocked == (user.state == UserState::DirectoryBlocked) {
        return Ok(false);
    }
    let state = if is_blocked { UserState::DirectoryBlocked } else { UserState::Active };
    user::update_state(&mut transaction, id, state, app.clock.now()).await?;
    if is_blocked {
        browser_session::delete_all_for_user(&mut transaction, id, None).await?;
    }
    holdfast_store::commit(transaction).await?;
    Ok(true)
}

async fn upsert_identity(connection: &mut Connection, id: UserId, identity: &Identity) -> Result<()> {
    identity::upsert(connection, id, identity)
        .await
        .on_constraint("identities_extern_uid_key", || Violations::single("extern_uid", TAKEN).into())
}

const EMAIL_TAKEN: &str = "Email has already been taken";
const USERNAME_TAKEN: &str = "Username has already been taken";

fn email_taken() -> Error {
    Error::Conflict(EMAIL_TAKEN.into())
}

fn username_taken() -> Error {
    Error::Conflict(USERNAME_TAKEN.into())
}

/// Returns the violation for the conflict of a user with another one: the address or the username is taken. Returns
/// other errors as they are.
pub fn conflict_as_violation(error: Error) -> Error {
    match error {
        Error::Conflict(text) if text == EMAIL_TAKEN => Violations::single("email", TAKEN).into(),
        Error::Conflict(text) if text == USERNAME_TAKEN => Violations::single("username", TAKEN).into(),
        other => other,
    }
}

/// Returns the actor for a user on whose behalf a job runs. Returns None if the user is blocked or deleted.
pub(crate) async fn actor_for_user(app: &App, id: UserId) -> Result<Option<Actor>> {
    let found = user::find(&mut *app.database.connection().await?, id).await?.filter(User::is_active);
    Ok(found.map(|user| Actor::User(Box::new(CurrentUser::new(user.account())))))
}

/// Returns the current user and locks the user's row with `FOR KEY SHARE`. The user cannot be deleted before the new
/// content is committed, so the job that reassigns the content of deleted users finds it. Locks nothing else.
pub(crate) async fn lock_author(connection: &mut Connection, actor: &Actor) -> Result<UserId> {
    let author = actor.current_user()?.account.id();
    let locked = user::lock_key_shared(connection, &[author.get()]).await?;
    if locked.is_empty() { Err(Error::Unauthenticated) } else { Ok(author) }
}

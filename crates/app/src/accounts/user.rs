//! Users.

use holdfast_domain::accounts::{EmailAddress, UserState, password};
use holdfast_domain::ids::UserId;
use holdfast_domain::namespaces::NamespacePath;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_domain::{Field, Violations};
use holdfast_store::accounts::identity::{self, Identity};
use holdfast_store::accounts::user::{self, Attributes};
use holdfast_store::accounts::{email, ghost, token};
use holdfast_store::activity::event;
use holdfast_store::namespaces::{group, namespace};
use holdfast_store::projects::star;
use holdfast_store::worker::removal;

pub use holdfast_store::accounts::user::{Filter, User, UserSummary};

use crate::actor::CurrentUser;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Resource, Result, access, events};

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, filter: Filter, page: PageRequest) -> Result<Page<User>> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    // Only administrators may see which users are external.
    let filter = Filter { external: filter.external && actor.is_administrator(), ..filter };
    // A username selects at most one user, so the other filters are ignored.
    let filter = match filter.username {
        Some(_) => Filter { username: filter.username, ..Filter::default() },
        None => filter,
    };
    Ok(user::list(&app.database, &filter, page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, id: UserId) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let found = user::find_with_ghost(&mut *app.database.connection().await?, id).await?;
    found.ok_or(Error::NotFound(Resource::User))
}

/// Returns the current user. Needs no query if authentication has loaded the profile.
#[crate::boxed]
pub async fn show_own(app: &App, actor: &Actor) -> Result<User> {
    let current_user = access::authorize_own_account(actor)?;
    match &current_user.profile {
        Some(profile) => Ok((**profile).clone()),
        None => find_existing(app, current_user.account.id()).await,
    }
}

/// Finds a user by username, for the command line.
#[crate::boxed]
pub async fn show_by_username(app: &App, actor: &Actor, username: &str) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    let found = user::find_by_username(&mut *app.database.connection().await?, username).await?;
    found.ok_or(Error::NotFound(Resource::User))
}

pub(super) async fn find_existing(app: &App, id: UserId) -> Result<User> {
    user::find(&mut *app.database.connection().await?, id).await?.ok_or(Error::NotFound(Resource::User))
}

/// The attributes that a creation or an update sets.
#[derive(Clone, Default)]
pub struct UserChanges {
    pub email: Field<String>,
    pub username: Field<String>,
    pub name: Field<String>,
    pub password: Field<String>,
    pub skype: Field<String>,
    pub linkedin: Field<String>,
    pub twitter: Field<String>,
    pub website_url: Field<String>,
    pub organization: Field<String>,
    pub bio: Field<String>,
    pub location: Field<String>,
    pub projects_limit: Option<i32>,
    pub admin: Option<bool>,
    pub can_create_group: Option<bool>,
    pub external: Option<bool>,
    pub provider: Field<String>,
    pub extern_uid: Field<String>,
}

/// Validated attributes, and the values that are stored separately.
struct ValidatedChanges {
    attributes: Attributes,
    password: Option<String>,
    identity: Option<Identity>,
}

impl UserChanges {
    fn apply(self, current: Attributes) -> Result<ValidatedChanges> {
        let became_external = self.external == Some(true) && !current.external;
        let attributes = Attributes {
            username: self.username.or(current.username),
            name: self.name.or(current.name),
            email: self.email.or(current.email),
            admin: self.admin.unwrap_or(current.admin),
            external: self.external.unwrap_or(current.external),
            // A user who becomes external may create neither groups nor projects, unless the request allows it
            // explicitly.
            can_create_group: self.can_create_group.unwrap_or(current.can_create_group && !became_external),
            projects_limit: self.projects_limit.unwrap_or(if became_external { 0 } else { current.projects_limit }),
            bio: self.bio.or_nullable(current.bio),
            location: self.location.or_nullable(current.location),
            skype: self.skype.or(current.skype),
            linkedin: self.linkedin.or(current.linkedin),
            twitter: self.twitter.or(current.twitter),
            website_url: self.website_url.or(current.website_url),
            organization: self.organization.or(current.organization),
        };
        // An empty password counts as absent.
        let password = self.password.value().filter(|password| !password.is_empty());
        let mut violations = Violations::default();
        let address = violations.check("email", EmailAddress::parse(&attributes.email));
        if let Some(password) = &password {
            violations.check(
                "password",
                password::check(password, &[&attributes.username, &attributes.name, &attributes.email]),
            );
        }
        if attributes.name.trim().is_empty() {
            violations.add("name", BLANK);
        }
        violations.check("username", NamespacePath::parse(&attributes.username));
        if attributes.projects_limit < 0 {
            violations.add("projects_limit", "must be greater than or equal to 0");
        }
        violations.check_length("bio", attributes.bio.as_deref().unwrap_or_default(), 255);
        let lines = [
            ("name", attributes.name.as_str()),
            ("location", attributes.location.as_deref().unwrap_or_default()),
            ("skype", &attributes.skype),
            ("linkedin", &attributes.linkedin),
            ("twitter", &attributes.twitter),
            ("website_url", &attributes.website_url),
            ("organization", &attributes.organization),
        ];
        for (field, text) in lines {
            violations.check_single_line(field, text);
        }
        let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        let provider = self.provider.value().and_then(non_empty);
        let extern_uid = self.extern_uid.value().and_then(non_empty);
        let identity = match (provider, extern_uid) {
            (Some(provider), Some(extern_uid)) => {
                violations.check_single_line("provider", &provider);
                violations.check_single_line("extern_uid", &extern_uid);
                Some(Identity { provider, extern_uid })
            }
            (None, None) => None,
            (None, Some(_)) => {
                violations.add("provider", BLANK);
                None
            }
            (Some(_), None) => {
                violations.add("extern_uid", BLANK);
                None
            }
        };
        violations.into_result()?;
        let email = address.map_or_else(|| attributes.email.clone(), EmailAddress::into_string);
        Ok(ValidatedChanges { attributes: Attributes { email, ..attributes }, password, identity })
    }
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, changes: UserChanges) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let blank = Attributes {
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
    };
    let ValidatedChanges { attributes, password, identity } = changes.apply(blank)?;
    let Some(password) = password else { return Err(Violations::single("password", BLANK).into()) };
    let hash = app.hash_password(&password).await?;

    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    // The address is checked before the username: if both are taken, the error names the address.
    if email::is_primary(&mut transaction, &attributes.email).await? {
        return Err(email_taken());
    }
    let id = user::insert(&mut transaction, &attributes, &hash, now)
        .await
        .on_constraint("users_username_key", username_taken)?;
    email::insert(&mut transaction, id, &attributes.email, true, now)
        .await
        .on_constraint("emails_email_key", email_taken)?;
    let path_taken = || Violations::single("username", TAKEN).into();
    namespace::insert_for_user(&mut transaction, id, &attributes.username, now)
        .await
        .on_constraint("namespaces_path_key", path_taken)
        .on_constraint("namespaces_name_key", path_taken)?;
    if let Some(identity) = &identity {
        upsert_identity(&mut transaction, id, identity).await?;
    }
    let user = user::find(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    event::publish(&mut transaction, None, &events::account::user_created(&user), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// Updates the attributes of a user. A new password deletes the user's sessions; personal tokens stay valid.
#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, id: UserId, changes: UserChanges) -> Result<User> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let new_password = changes.password.clone().value();
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
        token::delete_sessions(&mut transaction, id).await?;
    }
    if let Some(identity) = &identity {
        upsert_identity(&mut transaction, id, identity).await?;
    }
    let user = user::find(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// Sets a new password and deletes the user's sessions.
#[crate::boxed]
pub async fn reset_password(app: &App, actor: &Actor, id: UserId, new_password: &str) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let problem = |problem| Violations::single("password", problem);
    password::check(new_password, &[]).map_err(problem)?;
    let hash = app.hash_password(new_password).await?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::User))?;
    password::check(new_password, &[&user.username, &user.name, &user.email]).map_err(problem)?;
    user::update_password(&mut transaction, id, &hash, app.clock.now()).await?;
    token::delete_sessions(&mut transaction, id).await?;
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
    // This comes after the locks of the projects: a request that holds one of them may be about to refer to the user.
    user::lock_exclusive(&mut transaction, id).await?;
    events::removal::publish_for_user(&mut transaction, &user, now).await?;
    removal::enqueue_reassign_author(&mut transaction, id, &format!("what {} wrote", user.username), now).await?;
    user::delete(&mut transaction, id).await?;
    event::publish(&mut transaction, None, &events::account::user_destroyed(&user), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(user))
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
    holdfast_store::commit(transaction).await?;
    Ok(true)
}

async fn upsert_identity(connection: &mut holdfast_store::Connection, id: UserId, identity: &Identity) -> Result<()> {
    identity::upsert(connection, id, identity)
        .await
        .on_constraint("identities_extern_uid_key", || Violations::single("extern_uid", TAKEN).into())
}

fn current_attributes(user: &User) -> Attributes {
    let user = user.clone();
    Attributes {
        username: user.username,
        name: user.name,
        email: user.email,
        admin: user.admin,
        external: user.external,
        can_create_group: user.can_create_group,
        projects_limit: user.projects_limit,
        bio: user.bio,
        location: user.location,
        skype: user.skype,
        linkedin: user.linkedin,
        twitter: user.twitter,
        website_url: user.website_url,
        organization: user.organization,
    }
}

fn email_taken() -> Error {
    Error::Conflict("Email has already been taken".into())
}

fn username_taken() -> Error {
    Error::Conflict("Username has already been taken".into())
}

/// Returns the actor for a user on whose behalf a job runs. Returns None if the user is blocked or deleted.
pub(crate) async fn actor_for_user(app: &App, id: UserId) -> Result<Option<Actor>> {
    let found = user::find(&mut *app.database.connection().await?, id).await?.filter(User::is_active);
    Ok(found.map(|user| Actor::User(Box::new(CurrentUser::new(user.account())))))
}

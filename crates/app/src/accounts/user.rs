//! Users.

use holdfast_domain::accounts::{EmailAddress, Scopes, UserState, password};
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

pub use holdfast_store::accounts::user::{Filter, Person, User};

use super::notice;
use crate::actor::Caller;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(app: &App, actor: &Actor, filter: Filter, page: PageRequest) -> Result<Page<User>> {
    access::instance(actor, InstanceAction::ReadUsers)?;
    // Who is external is for administrators to know.
    let filter = Filter { external: filter.external && actor.is_administrator(), ..filter };
    // A username names one user, whatever else was asked for.
    let filter = match filter.username {
        Some(_) => Filter { username: filter.username, ..Filter::default() },
        None => filter,
    };
    Ok(user::list(&app.database, &filter, page).await?)
}

pub async fn show(app: &App, actor: &Actor, id: UserId) -> Result<User> {
    access::instance(actor, InstanceAction::ReadUsers)?;
    let found = user::find_with_ghost(&mut *app.database.connection().await?, id).await?;
    found.ok_or(Error::NotFound(Thing::User))
}

/// It was loaded with its token: no further query is needed.
pub async fn show_own(app: &App, actor: &Actor) -> Result<User> {
    let caller = access::account(actor)?;
    match &caller.own {
        Some(own) => Ok((**own).clone()),
        None => require(app, caller.account.id()).await,
    }
}

/// For the command line, which knows people by name.
pub async fn show_by_username(app: &App, actor: &Actor, username: &str) -> Result<User> {
    access::instance(actor, InstanceAction::ReadUsers)?;
    let found = user::find_by_username(&mut *app.database.connection().await?, username).await?;
    found.ok_or(Error::NotFound(Thing::User))
}

pub(super) async fn require(app: &App, id: UserId) -> Result<User> {
    user::find(&mut *app.database.connection().await?, id).await?.ok_or(Error::NotFound(Thing::User))
}

/// What a creation gives or an update changes.
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

/// Attributes that hold to every rule, and what goes beside them.
struct Checked {
    attributes: Attributes,
    password: Option<String>,
    identity: Option<Identity>,
}

impl UserChanges {
    fn apply(self, current: Attributes) -> Result<Checked> {
        let became_external = self.external == Some(true) && !current.external;
        let a = Attributes {
            username: self.username.or(current.username),
            name: self.name.or(current.name),
            email: self.email.or(current.email),
            admin: self.admin.unwrap_or(current.admin),
            external: self.external.unwrap_or(current.external),
            // External users create nothing unless they are allowed to in so many words.
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
        // An empty password is none.
        let password = self.password.value().filter(|password| !password.is_empty());
        let mut violations = Violations::default();
        let address = violations.check("email", EmailAddress::parse(&a.email));
        if let Some(password) = &password {
            violations.check("password", password::check(password, &[&a.username, &a.name, &a.email]));
        }
        if a.name.trim().is_empty() {
            violations.add("name", BLANK);
        }
        violations.check("username", NamespacePath::parse(&a.username));
        if a.projects_limit < 0 {
            violations.add("projects_limit", "must be greater than or equal to 0");
        }
        violations.check_length("bio", a.bio.as_deref().unwrap_or_default(), 255);
        let lines = [
            ("name", a.name.as_str()),
            ("location", a.location.as_deref().unwrap_or_default()),
            ("skype", &a.skype),
            ("linkedin", &a.linkedin),
            ("twitter", &a.twitter),
            ("website_url", &a.website_url),
            ("organization", &a.organization),
        ];
        for (field, text) in lines {
            violations.check_line(field, text);
        }
        let filled = |text: String| Some(text).filter(|text| !text.is_empty());
        let provider = self.provider.value().and_then(filled);
        let extern_uid = self.extern_uid.value().and_then(filled);
        let identity = match (provider, extern_uid) {
            (Some(provider), Some(extern_uid)) => {
                violations.check_line("provider", &provider);
                violations.check_line("extern_uid", &extern_uid);
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
        let email = address.map_or_else(|| a.email.clone(), EmailAddress::into_string);
        Ok(Checked { attributes: Attributes { email, ..a }, password, identity })
    }
}

pub async fn create(app: &App, actor: &Actor, changes: UserChanges) -> Result<User> {
    access::instance(actor, InstanceAction::ManageUsers)?;
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
    let Checked { attributes, password, identity } = changes.apply(blank)?;
    let Some(password) = password else { return Err(Violations::of("password", BLANK).into()) };
    let hash = app.hash_password(&password).await?;

    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    // The address is complained about before the username is.
    if email::is_primary(&mut transaction, &attributes.email).await? {
        return Err(email_taken());
    }
    let id = user::insert(&mut transaction, &attributes, &hash, now)
        .await
        .on_constraint("users_username_key", username_taken)?;
    email::insert(&mut transaction, id, &attributes.email, true, now)
        .await
        .on_constraint("emails_email_key", email_taken)?;
    let of_a_group = || Violations::of("username", TAKEN).into();
    namespace::insert_of_user(&mut transaction, id, &attributes.username, now)
        .await
        .on_constraint("namespaces_path_key", of_a_group)
        .on_constraint("namespaces_name_key", of_a_group)?;
    if let Some(identity) = &identity {
        upsert_identity(&mut transaction, id, identity).await?;
    }
    let user = user::find(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::User))?;
    event::tell(&mut transaction, None, &notice::created(&user), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// Changes the attributes of a user. A new password ends all sign-ins of the user; personal tokens go on.
pub async fn update(app: &App, actor: &Actor, id: UserId, changes: UserChanges) -> Result<User> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let new_password = changes.password.clone().value();
    let hash = match new_password.filter(|password| password::check(password, &[]).is_ok()) {
        Some(password) => Some(app.hash_password(&password).await?),
        None => None,
    };
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let before = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::User))?;
    let Checked { attributes, identity, .. } = changes.apply(attributes_of(&before))?;
    user::update(&mut transaction, id, &attributes, now).await.on_constraint("users_username_key", username_taken)?;
    namespace::rename_of_user(&mut transaction, id, &attributes.username, now)
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
    let user = user::find(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::User))?;
    holdfast_store::commit(transaction).await?;
    Ok(user)
}

/// A new password by the operator's hand: whoever was signed in with the old one is signed out.
pub async fn reset_password(app: &App, actor: &Actor, id: UserId, new: &str) -> Result<()> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let problem = |problem| Violations::of("password", problem);
    password::check(new, &[]).map_err(problem)?;
    let hash = app.hash_password(new).await?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::User))?;
    password::check(new, &[&user.username, &user.name, &user.email]).map_err(problem)?;
    user::update_password(&mut transaction, id, &hash, app.clock.now()).await?;
    token::delete_sessions(&mut transaction, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// Deletes a user with the user's own projects. What the user wrote elsewhere is the ghost account's from then on. Returns
/// None when there was no such user.
pub async fn delete(app: &App, actor: &Actor, id: UserId) -> Result<Option<User>> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    // First, so that two deletions that both create the ghost account wait for each other before they lock anything else.
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
    star::forget(&mut transaction, id).await?;
    if let Some(own) = namespace::id_of_user(&mut transaction, id).await? {
        group::lock_whole(&mut transaction, own).await?;
        removal::begin_namespace(&mut transaction, own, &format!("user {}", user.username), now).await?;
    }
    removal::begin_author(&mut transaction, id, &format!("what {} wrote", user.username), now).await?;
    user::delete(&mut transaction, id).await?;
    event::tell(&mut transaction, None, &notice::destroyed(&user), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(user))
}

/// Whether anything changed.
pub async fn block(app: &App, actor: &Actor, id: UserId) -> Result<bool> {
    const REFUSAL: &str = "LDAP blocked users cannot be modified by the API";
    set_state(app, actor, id, UserState::Blocked, REFUSAL).await
}

/// Whether anything changed.
pub async fn unblock(app: &App, actor: &Actor, id: UserId) -> Result<bool> {
    const REFUSAL: &str = "LDAP blocked users cannot be unblocked by the API";
    set_state(app, actor, id, UserState::Active, REFUSAL).await
}

async fn set_state(app: &App, actor: &Actor, id: UserId, to: UserState, refusal: &'static str) -> Result<bool> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::User))?;
    if user.state == UserState::DirectoryBlocked {
        return Err(Error::Forbidden(Some(refusal)));
    }
    if user.state == to {
        return Ok(false);
    }
    user::update_state(&mut transaction, id, to, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(true)
}

/// What a directory says of an account. Its block overrides what people set; it lifts no block but its own.
pub async fn synchronise_state(app: &App, actor: &Actor, id: UserId, blocked: bool) -> Result<bool> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::User))?;
    if blocked == (user.state == UserState::DirectoryBlocked) {
        return Ok(false);
    }
    let state = if blocked { UserState::DirectoryBlocked } else { UserState::Active };
    user::update_state(&mut transaction, id, state, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(true)
}

async fn upsert_identity(connection: &mut holdfast_store::Connection, id: UserId, identity: &Identity) -> Result<()> {
    identity::upsert(connection, id, identity)
        .await
        .on_constraint("identities_extern_uid_key", || Violations::of("extern_uid", TAKEN).into())
}

fn attributes_of(user: &User) -> Attributes {
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

/// Somebody for whom a job acts; None if he may do nothing any more.
pub(crate) async fn acting(app: &App, id: UserId) -> Result<Option<Actor>> {
    let found = user::find(&mut *app.database.connection().await?, id).await?.filter(User::is_active);
    Ok(found.map(|user| {
        let caller =
            Caller { account: user.account(), own: None, scopes: Scopes::all(), impersonated_by: None, build_of: None };
        Actor::User(Box::new(caller))
    }))
}

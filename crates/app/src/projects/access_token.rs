//! Access tokens of projects and groups. Each has a user of its own: a bot, which is a member and is deleted with the
//! token.

use chrono::{Days, NaiveDate};
use holdfast_domain::accounts::{Scopes, TokenKind};
use holdfast_domain::ids::{TokenId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, ProjectAction};
use holdfast_domain::{AccessLevel, Field, Violations};
use holdfast_store::accounts::user;
use holdfast_store::activity::event;
use holdfast_store::namespaces::bot as store_bot;
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::{Connection, Transaction};

pub use holdfast_store::namespaces::bot::AccessToken;
pub use holdfast_store::namespaces::member::MembershipScope;

use super::member as project_member;
use crate::accounts::bot;
use crate::accounts::token::{check_expiry, check_name_and_scopes, insert, replace};
use crate::namespaces::member::{self as group_member, Membership};
use crate::{Actor, App, Error, Resource, Result, access, events};

/// Maximum number of access tokens of a project or group. Arbitrary.
const MAX_TOKENS: i64 = 100;
/// Maximum time that an access token is valid, and the default.
const MAX_LIFETIME: Days = Days::new(365);

/// The project or group of an access token, in a request.
#[derive(Clone, Debug)]
pub enum TokenParent {
    Project(ProjectRef),
    Group(GroupRef),
}

#[derive(Clone, Debug)]
pub struct CreateAccessToken {
    pub name: String,
    pub scopes: Vec<String>,
    /// The access level of the bot: that of a master by default, and at most that of the current user.
    pub access_level: Option<i64>,
    /// The first day on which the token is no longer valid.
    pub expires_at: Option<NaiveDate>,
}

/// The project or group of an access token.
#[derive(Debug)]
pub enum FoundParent {
    Project(Box<Project>),
    Group(Box<Group>),
}

impl FoundParent {
    async fn lock(app: &App, connection: &mut Connection, actor: &Actor, parent: &TokenParent) -> Result<Self> {
        match parent {
            TokenParent::Project(project) => {
                let action = ProjectAction::ManageMembers;
                let locked = access::lock_project(app, connection, actor, project, action).await?;
                Ok(Self::Project(Box::new(locked)))
            }
            TokenParent::Group(group) => {
                let locked = access::lock_group(app, connection, actor, group, GroupAction::ManageMembers).await?;
                Ok(Self::Group(Box::new(locked)))
            }
        }
    }

    /// Returns the project or group if the actor may manage its tokens.
    async fn authorize(app: &App, connection: &mut Connection, actor: &Actor, parent: &TokenParent) -> Result<Self> {
        match parent {
            TokenParent::Project(project) => {
                let action = ProjectAction::ManageMembers;
                let project = access::authorize_project(app, connection, actor, project, action).await?;
                Ok(Self::Project(Box::new(project)))
            }
            TokenParent::Group(group) => {
                let group = access::authorize_group(app, connection, actor, group, GroupAction::ManageMembers).await?;
                Ok(Self::Group(Box::new(group)))
            }
        }
    }

    fn scope(&self) -> MembershipScope {
        match self {
            Self::Project(project) => MembershipScope::Project(project.id),
            Self::Group(group) => MembershipScope::Group(group.id),
        }
    }

    /// Returns the highest level that the actor may give to a bot. Only owners manage the members of a group.
    fn max_level(&self, actor: &Actor) -> AccessLevel {
        match self {
            Self::Project(project) if !actor.is_administrator() => {
                project.level().unwrap_or(AccessLevel::Guest).min(AccessLevel::Master)
            }
            Self::Project(_) => AccessLevel::Master,
            Self::Group(_) => AccessLevel::Owner,
        }
    }

    fn describe(&self) -> (&'static str, i64) {
        match self {
            Self::Project(project) => ("project", project.id.get()),
            Self::Group(group) => ("group", group.id.get()),
        }
    }

    /// Makes the bot a member, and commits.
    async fn add_member(&self, app: &App, transaction: Transaction, bot: UserId, level: AccessLevel) -> Result<()> {
        match self {
            Self::Project(project) => {
                let membership = Membership { access_level: level.as_i16().into(), expires_at: Field::Absent };
                let added = project_member::add_and_publish(app, transaction, project, bot, membership).await?;
                added.map(drop).ok_or(Error::NotFound(Resource::User))
            }
            Self::Group(group) => {
                group_member::add_and_publish(app, transaction, group, bot, level, None).await.map(drop)
            }
        }
    }
}

/// Creates an access token of a project or group, and its bot. Returns the token and its secret.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    parent: &TokenParent,
    input: CreateAccessToken,
) -> Result<(AccessToken, String)> {
    let mut transaction = app.database.begin().await?;
    let parent = FoundParent::lock(app, &mut transaction, actor, parent).await?;
    access::ensure_may_create_credentials(actor)?;
    let (scopes, level, expires_at) = check(app, &input, parent.max_level(actor))?;
    if store_bot::count(&mut transaction, parent.scope(), MAX_TOKENS).await? >= MAX_TOKENS {
        let (kind, _) = parent.describe();
        return Err(Error::Rejected(format!("A {kind} has at most {MAX_TOKENS} access tokens: revoke some first")));
    }
    let now = app.clock.now();
    let (kind, id) = parent.describe();
    let username = format!("{kind}_{id}_bot_{}", app.entropy.hex::<8>());
    let email = format!("{username}@noreply.invalid");
    let bot = store_bot::insert(&mut transaction, parent.scope(), &username, &input.name, &email, now).await?;
    let user = user::find(&mut transaction, bot).await?.ok_or(Error::NotFound(Resource::User))?;
    event::publish(&mut transaction, None, &events::account::user_created(&user), now).await?;
    let (token, secret) =
        insert(app, &mut transaction, bot, TokenKind::Bot, &input.name, &scopes, Some(expires_at)).await?;
    parent.add_member(app, transaction, bot, level).await?;
    Ok((find(&mut *app.database.connection().await?, parent.scope(), token.id).await?, secret))
}

/// Returns the scopes, the access level and the expiry date of a new token.
fn check(app: &App, input: &CreateAccessToken, max_level: AccessLevel) -> Result<(Scopes, AccessLevel, NaiveDate)> {
    let mut violations = Violations::default();
    let scopes = check_name_and_scopes(&input.name, &input.scopes, &mut violations);
    let without_sudo = Scopes::parse(["api"]).expect("api is a scope");
    if scopes.as_ref().is_some_and(|scopes| !without_sudo.is_superset_of(scopes)) {
        violations.add("scopes", "must not contain sudo");
    }
    let level = input.access_level.map_or(Ok(AccessLevel::Master), AccessLevel::try_from);
    let level = violations.check("access_level", level.map_err(|error| error.to_string()));
    if level.is_some_and(|level| level > max_level) {
        violations.add("access_level", format!("must be at most {}", max_level.as_i16()));
    }
    let end = input.expires_at.unwrap_or(app.today() + MAX_LIFETIME);
    check_lifetime(app, Some(end), &mut violations);
    violations.into_result()?;
    let (scopes, level) = scopes.zip(level).expect("both are valid if there are no violations");
    Ok((scopes, level, end))
}

fn check_lifetime(app: &App, expires_at: Option<NaiveDate>, violations: &mut Violations) {
    check_expiry(app, expires_at, violations);
    if expires_at.is_some_and(|end| end > app.today() + MAX_LIFETIME) {
        violations.add("expires_at", "must be within 365 days");
    }
}

/// Lists the access tokens of a project or group, newest first. If `is_active` is given, lists only valid tokens or only
/// others.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    parent: &TokenParent,
    is_active: Option<bool>,
    page: PageRequest,
) -> Result<Page<AccessToken>> {
    let scope = FoundParent::authorize(app, &mut *app.database.connection().await?, actor, parent).await?.scope();
    Ok(store_bot::list_tokens(&app.database, scope, is_active, page, app.clock.now()).await?)
}

/// The access tokens of a project or group, with what their page shows.
#[derive(Debug)]
pub struct ParentTokens {
    pub parent: FoundParent,
    pub tokens: Page<AccessToken>,
    /// The highest level that the current user may give to the bot of a token.
    pub max_level: AccessLevel,
}

/// Like [`list`] of all tokens, but also returns the project or group.
#[crate::boxed]
pub async fn list_with_parent(
    app: &App,
    actor: &Actor,
    parent: &TokenParent,
    page: PageRequest,
) -> Result<ParentTokens> {
    let parent = FoundParent::authorize(app, &mut *app.database.connection().await?, actor, parent).await?;
    let tokens = store_bot::list_tokens(&app.database, parent.scope(), None, page, app.clock.now()).await?;
    let max_level = parent.max_level(actor);
    Ok(ParentTokens { parent, tokens, max_level })
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, parent: &TokenParent, id: TokenId) -> Result<AccessToken> {
    let mut connection = app.database.connection().await?;
    let scope = FoundParent::authorize(app, &mut connection, actor, parent).await?.scope();
    find(&mut connection, scope, id).await
}

async fn find(connection: &mut Connection, scope: MembershipScope, id: TokenId) -> Result<AccessToken> {
    let found = store_bot::find_token(connection, scope, id).await?;
    found.ok_or(Error::NotFound(Resource::Token))
}

/// Replaces an access token by a new one of the same bot, and revokes it. The list shows the token that was replaced last,
/// and not the earlier ones.
#[crate::boxed]
pub async fn rotate(
    app: &App,
    actor: &Actor,
    parent: &TokenParent,
    id: TokenId,
    expires_at: Option<NaiveDate>,
) -> Result<(AccessToken, String)> {
    let mut transaction = app.database.begin().await?;
    let scope = FoundParent::authorize(app, &mut transaction, actor, parent).await?.scope();
    access::ensure_may_create_credentials(actor)?;
    let old = find(&mut transaction, scope, id).await?.token;
    let mut violations = Violations::default();
    check_lifetime(app, expires_at, &mut violations);
    violations.into_result()?;
    let (token, secret) = replace(app, &mut transaction, &old, expires_at).await?;
    store_bot::delete_revoked_tokens(&mut transaction, old.user_id, old.id).await?;
    let new = find(&mut transaction, scope, token.id).await?;
    holdfast_store::commit(transaction).await?;
    Ok((new, secret))
}

/// Revokes an access token and deletes its bot. A token that was revoked or replaced before is not found.
#[crate::boxed]
pub async fn revoke(app: &App, actor: &Actor, parent: &TokenParent, id: TokenId) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let scope = FoundParent::authorize(app, &mut transaction, actor, parent).await?.scope();
    let found = find(&mut transaction, scope, id).await?;
    if found.token.revoked_at.is_some() {
        return Err(Error::NotFound(Resource::Token));
    }
    bot::delete(app, &mut transaction, found.token.user_id).await?;
    Ok(holdfast_store::commit(transaction).await?)
}

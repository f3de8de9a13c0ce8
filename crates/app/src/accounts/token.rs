//! Personal access tokens, and impersonation tokens, with which administrators act as another user.

use chrono::{Days, NaiveDate, NaiveTime};
use holdfast_domain::Violations;
use holdfast_domain::accounts::{Scope, Scopes, TokenKind};
use holdfast_domain::ids::{TokenId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::BLANK;
use holdfast_store::Connection;
use holdfast_store::accounts::token::{self, NewToken};
use holdfast_store::accounts::user;

pub use holdfast_store::accounts::token::{Filter, Token};

use super::bot;
use super::secret::digest;
use super::user::find_existing;
use crate::actor::CurrentUser;
use crate::{Actor, App, Error, Resource, Result, access};

/// How long a token is valid that replaces another one, if the request names no date. Existing clients expect a week.
const ROTATED_TOKEN_LIFETIME: Days = Days::new(7);

/// A personal token in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRef {
    Id(TokenId),
    /// The token that the request was sent with.
    InUse,
}

#[derive(Clone, Debug)]
pub struct CreateToken {
    pub name: String,
    pub scopes: Vec<String>,
    /// The first day on which the token is no longer valid.
    pub expires_at: Option<NaiveDate>,
}

/// Creates a token for the current user. Its scopes must be a subset of the scopes of the token in use.
#[crate::boxed]
pub async fn create_own(app: &App, actor: &Actor, input: CreateToken) -> Result<(Token, String)> {
    let current_user = access::authorize_own_account(actor)?;
    access::ensure_may_create_credentials(actor)?;
    if let Ok(wanted) = Scopes::parse(&input.scopes) {
        ensure_no_wider(current_user, &wanted)?;
    }
    create(app, current_user.account.id(), TokenKind::Personal, input).await
}

/// Creates a personal token for another user. If it is requested with a token, that one needs the scope `sudo`, and the
/// scopes of the new one must be a subset of its scopes.
#[crate::boxed]
pub async fn create_for_user(app: &App, actor: &Actor, user: UserId, input: CreateToken) -> Result<(Token, String)> {
    create_of_kind(app, actor, user, TokenKind::Personal, input).await
}

/// Like [`create_for_user`], but creates an impersonation token, which the user does not see and which creates no other
/// credentials.
#[crate::boxed]
pub async fn create_impersonation(
    app: &App,
    actor: &Actor,
    user: UserId,
    input: CreateToken,
) -> Result<(Token, String)> {
    create_of_kind(app, actor, user, TokenKind::Impersonation, input).await
}

async fn create_of_kind(
    app: &App,
    actor: &Actor,
    user: UserId,
    kind: TokenKind,
    input: CreateToken,
) -> Result<(Token, String)> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    access::ensure_may_create_credentials(actor)?;
    find_existing(app, user).await?;
    if let Actor::User(current_user) = actor {
        ensure_may_act_as(current_user, user)?;
        if let Ok(wanted) = Scopes::parse(&input.scopes) {
            ensure_no_wider(current_user, &wanted)?;
        }
    }
    create(app, user, kind, input).await
}

/// Fails if the current user would get a token of another user without the scope to act as one.
fn ensure_may_act_as(current_user: &CurrentUser, user: UserId) -> Result<()> {
    if user == current_user.account.id() || current_user.scopes.allow(Scope::Sudo) {
        return Ok(());
    }
    Err(Error::Forbidden(Some("The token in use lacks the scope sudo, which is needed for tokens of other users")))
}

/// Fails if a new token would have a scope that the token in use lacks.
fn ensure_no_wider(current_user: &CurrentUser, wanted: &Scopes) -> Result<()> {
    if current_user.scopes.is_superset_of(wanted) {
        return Ok(());
    }
    Err(Error::Forbidden(Some("The token in use lacks a scope that the new one would have")))
}

async fn create(app: &App, user: UserId, kind: TokenKind, input: CreateToken) -> Result<(Token, String)> {
    let mut violations = Violations::default();
    let scopes = check_name_and_scopes(&input.name, &input.scopes, &mut violations);
    check_expiry(app, input.expires_at, &mut violations);
    violations.into_result()?;
    let scopes = scopes.expect("scopes were parsed if there are no violations");
    let mut connection = app.database.connection().await?;
    insert(app, &mut connection, user, kind, &input.name, &scopes, input.expires_at).await
}

/// Returns the scopes if they are valid.
pub(crate) fn check_name_and_scopes(name: &str, scopes: &[String], violations: &mut Violations) -> Option<Scopes> {
    if name.trim().is_empty() {
        violations.add("name", BLANK);
    }
    violations.check_single_line("name", name);
    if scopes.is_empty() {
        violations.add("scopes", BLANK);
    }
    violations.check("scopes", Scopes::parse(scopes).map_err(|error| error.to_string()))
}

pub(crate) fn check_expiry(app: &App, expires_at: Option<NaiveDate>, violations: &mut Violations) {
    if expires_at.is_some_and(|end| end <= app.today()) {
        violations.add("expires_at", "must be a day to come");
    }
}

/// Inserts a token with a new secret, which is returned.
pub(crate) async fn insert(
    app: &App,
    connection: &mut Connection,
    user: UserId,
    kind: TokenKind,
    name: &str,
    scopes: &Scopes,
    expires_at: Option<NaiveDate>,
) -> Result<(Token, String)> {
    let secret = app.new_secret(kind.prefix());
    let new = NewToken {
        user,
        kind,
        name,
        digest: &digest(&secret),
        scopes,
        expires_at: expires_at.map(|day| day.and_time(NaiveTime::MIN).and_utc()),
    };
    let token = token::insert(connection, &new, app.clock.now()).await?;
    Ok((token, secret))
}

#[crate::boxed]
pub async fn list_own(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<Token>> {
    let user = Some(access::authorize_own_account(actor)?.account.id());
    let filter = Filter { user, ..Filter::default() };
    Ok(token::list(&app.database, &filter, page, app.clock.now()).await?)
}

#[crate::boxed]
pub async fn list_for_user(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<Token>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let filter = Filter { user: Some(user), ..Filter::default() };
    Ok(token::list(&app.database, &filter, page, app.clock.now()).await?)
}

/// Lists the tokens of the current user, or for administrators those of the user in the filter.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, filter: Filter, page: PageRequest) -> Result<Page<Token>> {
    let own = access::authorize_own_account(actor)?.account.id();
    if filter.user.is_some_and(|user| user != own) {
        access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    }
    let filter = Filter { user: filter.user.or(Some(own)), ..filter };
    Ok(token::list(&app.database, &filter, page, app.clock.now()).await?)
}

/// Lists the impersonation tokens of a user.
#[crate::boxed]
pub async fn list_impersonation(
    app: &App,
    actor: &Actor,
    user: UserId,
    is_active: Option<bool>,
    page: PageRequest,
) -> Result<Page<Token>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    find_existing(app, user).await?;
    let filter = Filter { is_impersonation: true, user: Some(user), is_active, ..Filter::default() };
    Ok(token::list(&app.database, &filter, page, app.clock.now()).await?)
}

#[crate::boxed]
pub async fn show_impersonation(app: &App, actor: &Actor, user: UserId, id: TokenId) -> Result<Token> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let found = token::find(&mut *app.database.connection().await?, id).await?;
    let is_found = |token: &Token| token.user_id == user && token.kind == TokenKind::Impersonation;
    found.filter(is_found).ok_or(Error::NotFound(Resource::Token))
}

#[crate::boxed]
pub async fn revoke_impersonation(app: &App, actor: &Actor, user: UserId, id: TokenId) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    revoke(app, user, TokenKind::Impersonation, id).await
}

/// Returns the token in use, a personal token of the current user, or a personal token of any user for administrators.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, token: TokenRef) -> Result<Token> {
    find_manageable(&mut *app.database.connection().await?, actor, token).await
}

/// Finds a token that the actor may see and revoke: the one in use, a personal one of the current user, or any personal
/// one for administrators.
async fn find_manageable(connection: &mut Connection, actor: &Actor, token: TokenRef) -> Result<Token> {
    let current_user = access::authorize_own_account(actor)?;
    let unknown = || Error::NotFound(Resource::Token);
    let id = match token {
        TokenRef::Id(id) => id,
        TokenRef::InUse => current_user.token_id.ok_or_else(unknown)?,
    };
    let found = token::find(connection, id).await?;
    let is_manageable = |token: &Token| {
        let is_own = token.user_id == current_user.account.id();
        let is_managed = token.kind == TokenKind::Personal && (is_own || actor.is_administrator());
        current_user.token_id == Some(token.id) || is_managed
    };
    found.filter(is_manageable).ok_or_else(unknown)
}

#[crate::boxed]
pub async fn revoke_own(app: &App, actor: &Actor, id: TokenId) -> Result<()> {
    revoke(app, access::authorize_own_account(actor)?.account.id(), TokenKind::Personal, id).await
}

#[crate::boxed]
pub async fn revoke_for_user(app: &App, actor: &Actor, user: UserId, id: TokenId) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    revoke(app, user, TokenKind::Personal, id).await
}

/// Revokes a token that [`show`] would return. The token of a bot is deleted with the bot.
#[crate::boxed]
pub async fn revoke_any(app: &App, actor: &Actor, token: TokenRef) -> Result<()> {
    let token = show(app, actor, token).await?;
    if token.kind == TokenKind::Bot {
        let mut transaction = app.database.begin().await?;
        bot::delete(app, &mut transaction, token.user_id).await?;
        return Ok(holdfast_store::commit(transaction).await?);
    }
    revoke(app, token.user_id, token.kind, token.id).await
}

/// Replaces a token by a new one with the same name and scopes, and revokes it. Scopes that only a later version knows
/// are not copied; a token without any other is not replaced. Without a date the new token is valid for [a week](ROTATED_TOKEN_LIFETIME).
#[crate::boxed]
pub async fn rotate(
    app: &App,
    actor: &Actor,
    token: TokenRef,
    expires_at: Option<NaiveDate>,
) -> Result<(Token, String)> {
    let mut transaction = app.database.begin().await?;
    let old = find_manageable(&mut transaction, actor, token).await?;
    let current_user = actor.current_user()?;
    access::ensure_may_create_credentials(actor)?;
    ensure_may_act_as(current_user, old.user_id)?;
    ensure_no_wider(current_user, &old.scopes)?;
    let mut violations = Violations::default();
    check_expiry(app, expires_at, &mut violations);
    violations.into_result()?;
    let new = replace(app, &mut transaction, &old, expires_at).await?;
    holdfast_store::commit(transaction).await?;
    Ok(new)
}

/// Revokes a token, and inserts another one with the same user, kind, name and scopes.
pub(crate) async fn replace(
    app: &App,
    connection: &mut Connection,
    old: &Token,
    expires_at: Option<NaiveDate>,
) -> Result<(Token, String)> {
    if old.scopes.is_empty() {
        return Err(Error::Rejected("The scopes of the token belong to a later version of the server".into()));
    }
    // The deletion of a user locks the user before the tokens, so this does as well.
    if user::lock_key_shared(connection, &[old.user_id.get()]).await?.is_empty() {
        return Err(Error::NotFound(Resource::Token));
    }
    let now = app.clock.now();
    // The update that revokes the token also waits for another rotation, and then finds nothing to revoke.
    if !old.is_active(now) || !token::revoke(connection, old.user_id, old.kind, old.id, now).await? {
        return Err(Error::Rejected("The token is revoked or has expired".into()));
    }
    let expires_at = expires_at.unwrap_or(app.today() + ROTATED_TOKEN_LIFETIME);
    insert(app, connection, old.user_id, old.kind, &old.name, &old.scopes, Some(expires_at)).await
}

async fn revoke(app: &App, user: UserId, kind: TokenKind, id: TokenId) -> Result<()> {
    let revoked = token::revoke(&mut *app.database.connection().await?, user, kind, id, app.clock.now()).await?;
    if revoked { Ok(()) } else { Err(Error::NotFound(Resource::Token)) }
}

impl App {
    pub fn is_active(&self, token: &Token) -> bool {
        token.is_active(self.clock.now())
    }
}

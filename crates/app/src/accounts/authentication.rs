//! From a token to an actor.

use std::net::IpAddr;

use chrono::TimeDelta;
use holdfast_domain::accounts::{Scope, Scopes, TokenKind};
use holdfast_store::accounts::{ssh_key, token, user};

use super::secret::digest;
use super::session;
use crate::actor::Caller;
use crate::ci::runner_door;
use crate::{Actor, App, Error, Result, Thing};

/// How far `last_used_at` may lag: a write per request would cost more than the request.
const LAST_USED_LAG: TimeDelta = TimeDelta::minutes(10);

/// What somebody presents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'a> {
    pub token: Option<&'a str>,
    /// Id or username of the user to act as.
    pub sudo: Option<&'a str>,
    /// Whether the own account is what is asked for.
    pub whole: bool,
    /// The address of the client.
    pub address: Option<IpAddr>,
}

/// No token is nobody; a token that is unknown, revoked, expired or of a blocked user is refused.
pub async fn authenticate(app: &App, credentials: Credentials<'_>, needed: Scope) -> Result<Actor> {
    let Some(secret) = credentials.token else { return Ok(Actor::Anonymous(credentials.address)) };
    let now = app.clock.now();
    let mut connection = app.database.connection().await?;
    let digest = digest(secret);
    let (token, account, own) = if credentials.whole {
        let found = token::find_presented_whole(&mut connection, &digest, now).await?;
        let found = found.ok_or(Error::Unauthenticated)?;
        ((found.token_id, found.scopes, found.last_used_at), found.user.account(), Some(Box::new(found.user)))
    } else {
        let found = token::find_presented(&mut connection, &digest, now).await?;
        let found = found.ok_or(Error::Unauthenticated)?;
        ((found.token_id, found.scopes, found.last_used_at), found.user, None)
    };
    let (id, scopes, last_used_at) = token;
    if !account.is_active() {
        return Err(Error::Unauthenticated);
    }
    if last_used_at.is_none_or(|at| at < now - LAST_USED_LAG) {
        // Not worth failing a request for: a read-only database still serves reads.
        if let Err(error) = token::touch(&mut connection, id, now).await {
            tracing::warn!(%error, "cannot record the use of a token");
        }
    }
    if !scopes.allow(needed) {
        return Err(Error::InsufficientScope { needed: needed.as_str() });
    }
    let caller = Caller { account, own, scopes, impersonated_by: None, build_of: None };
    let Some(who) = credentials.sudo else { return Ok(Actor::User(Box::new(caller))) };
    if !caller.account.admin {
        return Err(Error::Forbidden(Some("Must be admin to use sudo")));
    }
    if !caller.scopes.allow(Scope::Sudo) {
        return Err(Error::Forbidden(Some("Private token must be specified in order to use sudo")));
    }
    let target = match who.parse::<i64>() {
        Ok(id) => user::find(&mut connection, id.into()).await?,
        Err(_) => user::find_by_username(&mut connection, who).await?,
    };
    let target = target.ok_or_else(|| Error::NotFound(Thing::SudoTarget(who.to_owned())))?;
    if !target.is_active() {
        return Err(Error::Unauthenticated);
    }
    let impersonated_by = Some(caller.account.id());
    let (account, own) = (target.account(), Some(Box::new(target)));
    Ok(Actor::User(Box::new(Caller { account, own, scopes: caller.scopes, impersonated_by, build_of: None })))
}

/// The name that builds give. No user can have it: it is reserved.
const BUILD: &str = "gitlab-ci-token";

/// A name and a password, or a token in the place of either, as git sends them.
pub async fn authenticate_basic(app: &App, name: &str, secret: &str, address: &str) -> Result<Actor> {
    if name == BUILD {
        return runner_door::authenticate(app, secret).await;
    }
    let token =
        [secret, name].into_iter().find(|text| TokenKind::ALL.iter().any(|kind| text.starts_with(kind.prefix())));
    if let Some(token) = token {
        return authenticate(app, Credentials { token: Some(token), ..Credentials::default() }, Scope::Api).await;
    }
    let user = session::check(app, name, secret, address).await?;
    let caller =
        Caller { account: user.account(), own: None, scopes: Scopes::all(), impersonated_by: None, build_of: None };
    Ok(Actor::User(Box::new(caller)))
}

/// Whose key that is: the one who holds its other half.
pub async fn authenticate_key(app: &App, fingerprint: &str) -> Result<Actor> {
    let mut connection = app.database.connection().await?;
    let owner = ssh_key::find_owner(&mut connection, fingerprint).await?.ok_or(Error::Unauthenticated)?;
    let user = user::find(&mut connection, owner).await?.filter(user::User::is_active);
    let account = user.ok_or(Error::Unauthenticated)?.account();
    Ok(Actor::User(Box::new(Caller {
        account,
        own: None,
        scopes: Scopes::all(),
        impersonated_by: None,
        build_of: None,
    })))
}

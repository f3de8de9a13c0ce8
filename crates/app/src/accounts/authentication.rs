//! Authentication: from a token, a password or an SSH key to an [`Actor`].

use std::net::IpAddr;

use holdfast_domain::accounts::{Scope, TokenKind};
use holdfast_store::accounts::user::{Account, User};
use holdfast_store::accounts::{ssh_key, user};
use holdfast_store::authentication::credential::Credential;
use holdfast_store::authentication::token::ActiveToken;
use holdfast_store::{Connection, authentication};

use super::job_token;
use super::secret::digest;
use super::session;
use crate::actor::{CurrentUser, DeployKeyActor};
use crate::prefetched::{Prefetched, RequestTarget};
use crate::{Actor, App, Error, Resource, Result};

/// The credentials of a request, and how it wants to act.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'a> {
    pub token: Option<&'a str>,
    /// The token of a running build, where one is accepted and no other token was sent.
    pub job_token: Option<&'a str>,
    /// The id or the username of the user to act as.
    pub sudo: Option<&'a str>,
    /// Whether the request needs the complete user, because it is about the current user's own profile.
    pub needs_profile: bool,
    /// The project or group that the request names. It is read together with the token.
    pub target: Option<&'a RequestTarget>,
    /// The address of the client.
    pub address: Option<IpAddr>,
}

/// Authenticates a request by its token. Without a token the actor is anonymous; a token that is unknown, revoked,
/// expired or owned by a blocked user fails.
#[crate::boxed]
pub async fn authenticate<'a>(app: &'a App, credentials: Credentials<'a>, needed: Scope) -> Result<Actor> {
    if let Some(secret) = credentials.job_token {
        return job_token::authenticate(app, secret).await;
    }
    let Some(secret) = credentials.token else { return Ok(Actor::Anonymous(credentials.address)) };
    let mut connection = app.database.connection().await?;
    // An administrator who acts as another user sees the target with the rights of that user.
    let target = credentials.target.filter(|_| credentials.sudo.is_none());
    let found = find_credential::<ActiveToken>(app, &mut connection, secret, target, credentials.needs_profile).await?;
    let FoundCredential { credential: token, account, profile, prefetched } = found.ok_or(Error::Unauthenticated)?;
    if !token.scopes.allow(needed) {
        return Err(Error::InsufficientScope { needed: needed.as_str() });
    }
    let token_id = Some(token.id);
    let current_user = CurrentUser {
        profile,
        scopes: token.scopes,
        token_id,
        has_delegated_token: token.is_delegated,
        prefetched,
        ..CurrentUser::new(account)
    };
    let Some(sudo_login) = credentials.sudo else { return Ok(Actor::User(Box::new(current_user))) };
    if !current_user.account.admin {
        return Err(Error::Forbidden(Some("Must be admin to use sudo")));
    }
    if !current_user.scopes.allow(Scope::Sudo) {
        return Err(Error::Forbidden(Some("Private token must be specified in order to use sudo")));
    }
    let target = match sudo_login.parse::<i64>() {
        Ok(id) => user::find(&mut connection, id.into()).await?,
        Err(_) => user::find_by_username(&mut connection, sudo_login).await?,
    };
    let target = target.filter(|user| !user.bot);
    let target = target.ok_or_else(|| Error::NotFound(Resource::SudoTarget(sudo_login.to_owned())))?;
    if !target.is_active() {
        return Err(Error::Unauthenticated);
    }
    let impersonated_by = Some(current_user.account.id());
    let (account, profile) = (target.account(), Some(Box::new(target)));
    let CurrentUser { scopes, has_delegated_token, .. } = current_user;
    let current_user =
        CurrentUser { profile, scopes, has_delegated_token, impersonated_by, ..CurrentUser::new(account) };
    Ok(Actor::User(Box::new(current_user)))
}

/// A valid credential of an active user, with what the same statement has read.
pub(super) struct FoundCredential<C> {
    pub credential: C,
    pub account: Account,
    /// The complete user, if it was wanted.
    pub profile: Option<Box<User>>,
    pub prefetched: Prefetched,
}

/// Finds a valid credential by its secret, and records its use. Returns None if there is none, or its user is blocked.
/// If the complete user is wanted, the target is not read.
pub(super) async fn find_credential<C: Credential>(
    app: &App,
    connection: &mut Connection,
    secret: &str,
    target: Option<&RequestTarget>,
    needs_profile: bool,
) -> Result<Option<FoundCredential<C>>> {
    let (now, digest) = (app.clock.now(), digest(secret));
    let found = if needs_profile {
        let found = authentication::find_with_profile::<C>(connection, &digest, now).await?;
        found.map(|(credential, user)| ((credential, user.account()), Some(Box::new(user)), None))
    } else {
        match target {
            Some(RequestTarget::Project(project)) => {
                let found = authentication::find_with_project::<C>(connection, &digest, now, project).await?;
                found.map(|(found, target)| (found, None, target.map(|it| Prefetched::project(project, it))))
            }
            Some(RequestTarget::Group(group)) => {
                let found = authentication::find_with_group::<C>(connection, &digest, now, group).await?;
                found.map(|(found, target)| (found, None, target.map(|it| Prefetched::group(group, it))))
            }
            None => authentication::find::<C>(connection, &digest, now).await?.map(|found| (found, None, None)),
        }
    };
    let Some(((credential, account), profile, prefetched)) = found.filter(|((_, account), ..)| account.is_active())
    else {
        return Ok(None);
    };
    // A failure does not fail the request: a read-only database still serves reads.
    if let Err(error) = credential.record_use(connection, now).await {
        tracing::warn!(%error, "recording the use of a credential failed");
    }
    Ok(Some(FoundCredential { credential, account, profile, prefetched: prefetched.unwrap_or_default() }))
}

/// The username that builds send with their token. It is reserved, so no user can have it.
const CI_JOB_USERNAME: &str = "gitlab-ci-token";

/// Authenticates a request of git by a username and a password, or by a token in place of either. A token needs the scope
/// `needed`.
#[crate::boxed]
pub async fn authenticate_basic(
    app: &App,
    name: &str,
    secret: &str,
    needed: Scope,
    target: &RequestTarget,
    address: &str,
) -> Result<Actor> {
    let token =
        [secret, name].into_iter().find(|text| TokenKind::ALL.iter().any(|kind| text.starts_with(kind.prefix())));
    if let Some(token) = token {
        let credentials = Credentials { token: Some(token), target: Some(target), ..Credentials::default() };
        return authenticate(app, credentials, needed).await;
    }
    if name == CI_JOB_USERNAME {
        return job_token::authenticate(app, secret).await;
    }
    let user = session::verify_password(app, name, secret, address).await?;
    Ok(Actor::User(Box::new(CurrentUser::new(user.account()))))
}

/// Returns the owner of an SSH key, or the key itself if it is a deploy key. The caller has verified that the client holds
/// the private key.
#[crate::boxed]
pub async fn authenticate_key(app: &App, fingerprint: &str) -> Result<Actor> {
    let mut connection = app.database.connection().await?;
    let key = ssh_key::find_by_fingerprint(&mut connection, fingerprint).await?.ok_or(Error::Unauthenticated)?;
    let Some(owner) = key.owner else {
        return Ok(Actor::DeployKey(DeployKeyActor { id: key.id, title: key.title }));
    };
    let user = user::find(&mut connection, owner).await?.filter(user::User::is_active);
    let account = user.ok_or(Error::Unauthenticated)?.account();
    Ok(Actor::User(Box::new(CurrentUser::new(account))))
}

//! Sessions of browsers: sign-in, authentication by the cookie, confirmation of the password, and sign-out.
//!
//! - A session is not a token: the API, git and runners do not accept its secret.
//! - A new password, a block and a password reset end all sessions of the user.

use std::net::IpAddr;

use chrono::TimeDelta;
use holdfast_domain::Violations;
use holdfast_domain::accounts::browser_session::{self as rules, SECRET_PREFIX};
use holdfast_domain::ids::{BrowserSessionId, UserId};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_store::Connection;
use holdfast_store::accounts::browser_session::{self, NewBrowserSession};
use holdfast_store::accounts::user::{self, Account};
use holdfast_store::authentication;

pub use holdfast_store::accounts::browser_session::BrowserSession;

use super::authentication::find_credential;
use super::secret::digest;
use super::session;
use crate::actor::CurrentUser;
use crate::client::client_network;
use crate::prefetched::RequestTarget;
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of sessions of a user, so that a client that signs in repeatedly does not accumulate them. Arbitrary.
const MAX_SESSIONS: i64 = 50;

/// The browser that signs in.
#[derive(Clone, Copy, Debug)]
pub struct SessionClient<'a> {
    pub address: IpAddr,
    /// The header `User-Agent`. Only the names of the browser and of its operating system are stored.
    pub agent: &'a str,
}

/// Signs a user in, and returns the secret for the cookie with the new session. `login` is a username or a primary
/// address. A session that is remembered lasts `accounts.session_lifetime_days`. Fails with [`Error::Unauthenticated`]
/// for every reason that concerns login and password.
#[crate::boxed]
pub async fn create<'a>(
    app: &'a App,
    login: &'a str,
    password: &'a str,
    is_remembered: bool,
    client: SessionClient<'a>,
) -> Result<(String, BrowserSession)> {
    let address = client_network(client.address).to_string();
    let (mut transaction, user) = session::sign_in(app, login, password, &address).await?;
    let session = insert_session(app, &mut transaction, user.id, is_remembered, client).await?;
    holdfast_store::commit(transaction).await?;
    Ok(session)
}

/// Inserts a session of a user who has just entered the current password, and returns it with its secret. The caller has
/// locked or inserted the user in the same transaction.
pub(super) async fn insert_session(
    app: &App,
    connection: &mut Connection,
    user: UserId,
    is_remembered: bool,
    client: SessionClient<'_>,
) -> Result<(String, BrowserSession)> {
    let now = app.clock.now();
    let lifetime = TimeDelta::days(app.settings.session_lifetime_days.into());
    let secret = app.new_secret(SECRET_PREFIX);
    let new = NewBrowserSession {
        user,
        digest: &digest(&secret),
        is_remembered,
        expires_at: rules::expiry(is_remembered.then_some(now + lifetime), now),
        address: &rules::shorten_address(client.address),
        agent: &rules::describe_agent(client.agent),
    };
    let session = browser_session::insert(connection, &new, now).await?;
    browser_session::prune(connection, user, MAX_SESSIONS, now).await?;
    Ok((secret, session))
}

/// Finds the session of a cookie, its user and, with the same statement, the project or group that the request names.
/// Returns None if the session has ended, or its user is blocked: the request is anonymous, and the cookie is to be
/// deleted.
#[crate::boxed]
pub async fn authenticate<'a>(
    app: &'a App,
    secret: &'a str,
    target: Option<&'a RequestTarget>,
    address: IpAddr,
) -> Result<Option<(Actor, BrowserSession)>> {
    if !secret.starts_with(SECRET_PREFIX) {
        return Ok(None);
    }
    let mut connection = app.database.connection().await?;
    let found = find_credential::<BrowserSession>(app, &mut connection, secret, target, false).await?;
    let Some(found) = found else {
        tracing::debug!(%address, "browser session is unknown or has ended");
        return Ok(None);
    };
    let current_user = CurrentUser {
        prefetched: found.prefetched,
        ref_update_channel: RefUpdateChannel::Web,
        ..CurrentUser::new(found.account)
    };
    Ok(Some((Actor::User(Box::new(current_user)), found.credential)))
}

/// Signs out: deletes the session of a cookie. Does nothing if it has ended already.
#[crate::boxed]
pub async fn delete(app: &App, secret: &str) -> Result<()> {
    Ok(browser_session::delete(&mut *app.database.connection().await?, &digest(secret)).await?)
}

/// Lists the valid sessions of the current user, the one used last first.
#[crate::boxed]
pub async fn list_own(app: &App, actor: &Actor) -> Result<Vec<BrowserSession>> {
    let user = access::authorize_own_account(actor)?.account.id();
    Ok(browser_session::list_all(&mut *app.database.connection().await?, user, app.clock.now()).await?)
}

/// Ends a session of the current user.
#[crate::boxed]
pub async fn delete_own(app: &App, actor: &Actor, id: BrowserSessionId) -> Result<()> {
    let user = access::authorize_own_account(actor)?.account.id();
    match browser_session::delete_for_user(&mut *app.database.connection().await?, user, id).await? {
        true => Ok(()),
        false => Err(Error::NotFound(Resource::Record)),
    }
}

/// Ends a session of another user.
#[crate::boxed]
pub async fn delete_for_user(app: &App, actor: &Actor, user: UserId, id: BrowserSessionId) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    match browser_session::delete_for_user(&mut *app.database.connection().await?, user, id).await? {
        true => Ok(()),
        false => Err(Error::NotFound(Resource::Record)),
    }
}

/// Ends all sessions of the current user except `current`.
#[crate::boxed]
pub async fn delete_others(app: &App, actor: &Actor, current: BrowserSessionId) -> Result<()> {
    let user = access::authorize_own_account(actor)?.account.id();
    Ok(browser_session::delete_all_for_user(&mut *app.database.connection().await?, user, Some(current)).await?)
}

/// Verifies the password of a session's user again, and records the time. Counts as an attempt to sign in. Fails with
/// [`Error::Unauthenticated`] if the session has ended, and with a violation of `password` if the password is wrong.
#[crate::boxed]
pub async fn confirm(app: &App, secret: &str, password: &str) -> Result<BrowserSession> {
    let now = app.clock.now();
    let mut connection = app.database.connection().await?;
    let found: Option<(BrowserSession, Account)> = authentication::find(&mut connection, &digest(secret), now).await?;
    drop(connection);
    let (session, account) = found.filter(|(_, account)| account.is_active()).ok_or(Error::Unauthenticated)?;
    let hash = session::verify_current_password(app, &account.summary, "password", password).await?;
    let mut transaction = app.database.begin().await?;
    user::lock(&mut transaction, account.id()).await?.ok_or(Error::Unauthenticated)?;
    if user::password_hash(&mut transaction, account.id()).await? != Some(hash) {
        // The password was changed while it was being verified.
        return Err(Violations::single("password", session::WRONG_PASSWORD).into());
    }
    browser_session::confirm(&mut transaction, account.id(), session.id, now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(BrowserSession { confirmed_at: now, ..session })
}

/// Deletes the browser sessions that have expired, some at a time.
pub(crate) async fn delete_expired(app: &App) -> Result<()> {
    let now = app.clock.now();
    while browser_session::delete_expired_batch(&mut *app.database.connection().await?, now, 1000).await? > 0 {}
    Ok(())
}

impl App {
    /// Returns whether the user of a session has entered the password recently enough for actions on credentials.
    pub fn is_confirmed(&self, session: &BrowserSession) -> bool {
        let ttl = TimeDelta::minutes(self.settings.confirm_minutes.into());
        rules::is_confirmed(session.confirmed_at, ttl, self.clock.now())
    }
}

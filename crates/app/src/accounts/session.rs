//! Sign-in with a password.

use chrono::TimeDelta;
use holdfast_domain::Violations;
use holdfast_domain::accounts::{Scopes, TokenKind};
use holdfast_domain::ids::UserId;
use holdfast_store::Transaction;
use holdfast_store::accounts::token::{self, NewToken};
use holdfast_store::accounts::user::{self, User, UserSummary};

use super::secret::digest;
use crate::{App, Error, Result};

/// Maximum number of sessions of a user, so that a client that signs in repeatedly does not accumulate tokens.
/// Arbitrary.
const MAX_SESSIONS: i64 = 50;

/// Maximum length of a login in the key of the throttle. No username or address is longer.
const MAX_LOGIN_CHARS: usize = 255;

/// A signed-in user and the token that was issued.
pub struct Session {
    pub user: User,
    pub token: String,
}

/// Returns the active user with this login and password. Creates no session.
pub(crate) async fn verify_password(app: &App, login: &str, password: &str, address: &str) -> Result<User> {
    let found = user::find_credentials(&mut *app.database.connection().await?, login).await?;
    let id = match found {
        Some(found) if app.passwords.is_recently_verified(password, Some(&found.password_hash)) => found.user,
        _ => verify_throttled(app, login, password, address).await?.0,
    };
    let found = user::find(&mut *app.database.connection().await?, id).await?;
    found.filter(User::is_active).ok_or(Error::Unauthenticated)
}

/// Counts an attempt to sign in with this login, from any address.
fn check_login_throttle(app: &App, login: &str) -> Result<()> {
    app.sign_in_throttle
        .check(|| format!("login {}", login.chars().take(MAX_LOGIN_CHARS).collect::<String>().to_lowercase()))
}

async fn verify_throttled(app: &App, login: &str, password: &str, address: &str) -> Result<(UserId, Option<String>)> {
    app.sign_in_throttle.check(|| address.to_owned())?;
    check_login_throttle(app, login)?;
    let found = user::find_credentials(&mut *app.database.connection().await?, login).await?;
    let (id, hash) = found.map(|found| (found.user, found.password_hash)).unzip();
    let matches = app.password_matches(password, hash.clone()).await?;
    Ok((id.filter(|_| matches).ok_or(Error::Unauthenticated)?, hash))
}

/// Verifies login and password, and records the sign-in. Returns an open transaction in which the user is locked, so
/// that the caller creates the session before the password can change.
pub(super) async fn sign_in(app: &App, login: &str, password: &str, address: &str) -> Result<(Transaction, User)> {
    let (id, hash) = verify_throttled(app, login, password, address).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.filter(User::is_active).ok_or(Error::Unauthenticated)?;
    if user::password_hash(&mut transaction, id).await? != hash {
        // The password was changed while it was being verified.
        return Err(Error::Unauthenticated);
    }
    user::record_sign_in(&mut transaction, id, now).await?;
    let user = User { last_sign_in_at: user.current_sign_in_at, current_sign_in_at: Some(now), ..user };
    Ok((transaction, user))
}

/// The violation for a password that is not the current one.
pub(super) const WRONG_PASSWORD: &str = "is incorrect";

/// Verifies the password of a signed-in user, and returns its hash. Counts as an attempt to sign in with this username.
/// A wrong password is a violation of the field `field`.
pub(super) async fn verify_current_password(
    app: &App,
    user: &UserSummary,
    field: &'static str,
    password: &str,
) -> Result<String> {
    check_login_throttle(app, &user.username)?;
    let hash = user::password_hash(&mut *app.database.connection().await?, user.id).await?;
    match hash {
        Some(hash) if app.password_matches(password, Some(hash.clone())).await? => Ok(hash),
        _ => Err(Violations::single(field, WRONG_PASSWORD).into()),
    }
}

/// Signs a user in and issues a session token. `login` is a username or a primary address; `address` is the address of
/// the client.
#[crate::boxed]
pub async fn create(app: &App, login: &str, password: &str, address: &str) -> Result<Session> {
    let (mut transaction, user) = sign_in(app, login, password, address).await?;
    let now = app.clock.now();
    let secret = app.new_secret(TokenKind::Session.prefix());
    let new = NewToken {
        user: user.id,
        kind: TokenKind::Session,
        name: "sign-in",
        digest: &digest(&secret),
        scopes: &Scopes::all(),
        expires_at: Some(now + TimeDelta::days(app.settings.session_lifetime_days.into())),
    };
    token::insert(&mut transaction, &new, now).await?;
    token::prune_sessions(&mut transaction, user.id, MAX_SESSIONS, now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Session { user, token: secret })
}

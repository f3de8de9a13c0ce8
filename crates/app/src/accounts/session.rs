//! Sign-in with a password.

use chrono::TimeDelta;
use holdfast_domain::accounts::{Scopes, TokenKind};
use holdfast_domain::ids::UserId;
use holdfast_store::accounts::token::{self, NewToken};
use holdfast_store::accounts::user::{self, User};

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

async fn verify_throttled(app: &App, login: &str, password: &str, address: &str) -> Result<(UserId, Option<String>)> {
    app.sign_in_throttle.check(|| address.to_owned())?;
    app.sign_in_throttle
        .check(|| format!("login {}", login.chars().take(MAX_LOGIN_CHARS).collect::<String>().to_lowercase()))?;
    let found = user::find_credentials(&mut *app.database.connection().await?, login).await?;
    let (id, hash) = found.map(|found| (found.user, found.password_hash)).unzip();
    let matches = app.password_matches(password, hash.clone()).await?;
    Ok((id.filter(|_| matches).ok_or(Error::Unauthenticated)?, hash))
}

/// Signs a user in and issues a session token. `login` is a username or a primary address; `address` is the address of
/// the client.
#[crate::boxed]
pub async fn create(app: &App, login: &str, password: &str, address: &str) -> Result<Session> {
    let (id, hash) = verify_throttled(app, login, password, address).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let user = user::lock(&mut transaction, id).await?.filter(User::is_active).ok_or(Error::Unauthenticated)?;
    if user::password_hash(&mut transaction, id).await? != hash {
        // The password was changed while it was being verified.
        return Err(Error::Unauthenticated);
    }
    user::record_sign_in(&mut transaction, id, now).await?;
    let secret = app.new_secret(TokenKind::Session);
    let new = NewToken {
        user: id,
        kind: TokenKind::Session,
        name: "sign-in",
        digest: &digest(&secret),
        scopes: &Scopes::all(),
        expires_at: Some(now + TimeDelta::days(app.settings.session_lifetime_days.into())),
    };
    token::insert(&mut transaction, &new, now).await?;
    token::prune_sessions(&mut transaction, id, MAX_SESSIONS, now).await?;
    holdfast_store::commit(transaction).await?;
    let user = User { last_sign_in_at: user.current_sign_in_at, current_sign_in_at: Some(now), ..user };
    Ok(Session { user, token: secret })
}

//! The first run: the operator creates the first administrator in the browser.
//!
//! - It needs a code that only the operator can read: in the log of a node that started without users, or printed by
//!   `holdfast admin setup-code`. Whoever finds the page of an exposed instance first can do nothing without it.
//! - Once a user exists, codes are neither issued nor accepted.

use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::BLANK;
use holdfast_domain::{Field, Violations};
use holdfast_store::accounts::setup_code;

use super::browser_session::{BrowserSession, SessionClient, insert_session};
use super::secret::digest;
use super::user::{self, UserChanges};
use crate::client::client_network;
use crate::{Actor, App, Error, Resource, Result, access};

/// How long a code is valid. Arbitrary: long enough for an installation, and a forgotten code in a log becomes useless.
const CODE_TTL: TimeDelta = TimeDelta::hours(24);

/// Returns whether the instance has no user yet. Once there is one, the node remembers it and executes no query.
#[crate::boxed]
pub async fn is_needed(app: &App) -> Result<bool> {
    if app.has_users.load(Ordering::Relaxed) {
        return Ok(false);
    }
    let users_exist = setup_code::users_exist(&mut *app.database.connection().await?).await?;
    if users_exist {
        app.has_users.store(true, Ordering::Relaxed);
    }
    Ok(!users_exist)
}

/// Issues a code for the creation of the first user. Codes that were issued before stay valid. Fails with
/// [`Error::Conflict`] if there is a user.
#[crate::boxed]
pub async fn create_code(app: &App, actor: &Actor) -> Result<String> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    if !is_needed(app).await? {
        return Err(Error::Conflict("The instance has users already".into()));
    }
    let code = app.new_secret("");
    let now = app.clock.now();
    setup_code::insert(&mut *app.database.connection().await?, &digest(&code), now - CODE_TTL, now).await?;
    Ok(code)
}

/// The first administrator, and the code of the operator.
#[derive(Clone)]
pub struct FirstAdministrator {
    pub code: String,
    pub username: String,
    pub name: String,
    pub email: String,
    pub password: String,
}

/// Creates the first user, an administrator, and signs this browser in. Returns the secret for the cookie with the new
/// session. The code counts as an attempt to sign in. Fails with [`Error::NotFound`] if there is a user already.
#[crate::boxed]
pub async fn create_administrator<'a>(
    app: &'a App,
    input: FirstAdministrator,
    client: SessionClient<'a>,
) -> Result<(String, BrowserSession)> {
    if !is_needed(app).await? {
        return Err(Error::NotFound(Resource::Record));
    }
    app.sign_in_throttle.check(|| client_network(client.address).to_string())?;
    let code = digest(input.code.trim());
    let now = app.clock.now();
    if !setup_code::exists(&mut *app.database.connection().await?, &code, now - CODE_TTL).await? {
        return Err(Violations::single("setup_code", "is wrong or has expired").into());
    }
    let changes = UserChanges {
        username: Field::Value(input.username),
        name: Field::Value(input.name),
        email: Field::Value(input.email),
        password: Field::Value(input.password),
        admin: Some(true),
        ..UserChanges::default()
    };
    let new_user = changes.apply(user::blank_attributes(app))?;
    let Some(password) = &new_user.password else { return Err(Violations::single("password", BLANK).into()) };
    let hash = app.hash_password(password).await?;
    let mut transaction = app.database.begin().await?;
    // Of two requests at once, the second one finds the user of the first.
    setup_code::lock_first_user(&mut transaction).await?;
    if setup_code::users_exist(&mut transaction).await? {
        return Err(Error::NotFound(Resource::Record));
    }
    let inserted = user::insert_validated(&mut transaction, &new_user, &hash, now).await;
    let user = inserted.map_err(user::conflict_as_violation)?;
    setup_code::delete_all(&mut transaction).await?;
    let session = insert_session(app, &mut transaction, user.id, false, client).await?;
    holdfast_store::commit(transaction).await?;
    Ok(session)
}

//! Secondary e-mail addresses.
//!
//! Nobody confirms them, so nothing follows from them: several users may have the same one, and another user's secondary
//! address can become somebody's primary one. Whether an address is somebody's primary one is the only thing that an
//! addition tells about others, and the list of users tells it anyway.

use holdfast_domain::Violations;
use holdfast_domain::accounts::EmailAddress;
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::TAKEN;
use holdfast_store::accounts::{email, user};

pub use holdfast_store::accounts::email::Email;

use super::user::require;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list_own(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<Email>> {
    Ok(email::list(&app.database, access::account(actor)?.account.id(), page).await?)
}

pub async fn list_of(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<Email>> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    require(app, user).await?;
    Ok(email::list(&app.database, user, page).await?)
}

pub async fn show_own(app: &App, actor: &Actor, id: EmailId) -> Result<Email> {
    let user = access::account(actor)?.account.id();
    let found = email::find(&mut *app.database.connection().await?, user, id).await?;
    found.ok_or(Error::NotFound(Thing::Record))
}

pub async fn create_own(app: &App, actor: &Actor, address: &str) -> Result<Email> {
    create(app, access::account(actor)?.account.id(), address).await
}

pub async fn create_for(app: &App, actor: &Actor, user: UserId, address: &str) -> Result<Email> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    require(app, user).await?;
    create(app, user, address).await
}

async fn create(app: &App, user: UserId, address: &str) -> Result<Email> {
    let address = EmailAddress::parse(address).map_err(|problem| Violations::of("email", problem))?;
    let mut transaction = app.database.begin().await?;
    user::lock(&mut transaction, user).await?.ok_or(Error::NotFound(Thing::User))?;
    let address = address.as_str();
    if email::is_of(&mut transaction, user, address).await? || email::is_primary(&mut transaction, address).await? {
        return Err(Violations::of("email", TAKEN).into());
    }
    let email = email::insert(&mut transaction, user, address, false, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(email)
}

/// None when it was gone already.
pub async fn delete_own(app: &App, actor: &Actor, id: EmailId) -> Result<Option<Email>> {
    delete(app, access::account(actor)?.account.id(), id).await
}

pub async fn delete_of(app: &App, actor: &Actor, user: UserId, id: EmailId) -> Result<Email> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    require(app, user).await?;
    delete(app, user, id).await?.ok_or(Error::NotFound(Thing::Email))
}

/// Whoever changes a user's addresses holds the user's row: which of them is the primary one must not change meanwhile.
async fn delete(app: &App, user: UserId, id: EmailId) -> Result<Option<Email>> {
    let mut transaction = app.database.begin().await?;
    user::lock(&mut transaction, user).await?;
    let deleted = email::delete(&mut transaction, user, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(deleted)
}

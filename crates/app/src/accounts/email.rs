//! Secondary e-mail addresses.
//!
//! They are not confirmed, so they grant nothing: several users may have the same one, and the secondary address of one
//! user can become the primary address of another. Adding an address reveals only whether it is somebody's primary
//! address, which the list of users shows anyway.

use holdfast_domain::Violations;
use holdfast_domain::accounts::EmailAddress;
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::TAKEN;
use holdfast_store::accounts::{email, user};

pub use holdfast_store::accounts::email::Email;

use super::user::find_existing;
use crate::{Actor, App, Error, Resource, Result, access};

#[crate::boxed]
pub async fn list_own(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<Email>> {
    Ok(email::list(&app.database, access::authorize_own_account(actor)?.account.id(), page).await?)
}

#[crate::boxed]
pub async fn list_for_user(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<Email>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    find_existing(app, user).await?;
    Ok(email::list(&app.database, user, page).await?)
}

#[crate::boxed]
pub async fn show_own(app: &App, actor: &Actor, id: EmailId) -> Result<Email> {
    let user = access::authorize_own_account(actor)?.account.id();
    let found = email::find(&mut *app.database.connection().await?, user, id).await?;
    found.ok_or(Error::NotFound(Resource::Record))
}

#[crate::boxed]
pub async fn create_own(app: &App, actor: &Actor, address: &str) -> Result<Email> {
    create(app, access::authorize_own_account(actor)?.account.id(), address).await
}

#[crate::boxed]
pub async fn create_for_user(app: &App, actor: &Actor, user: UserId, address: &str) -> Result<Email> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    find_existing(app, user).await?;
    create(app, user, address).await
}

async fn create(app: &App, user: UserId, address: &str) -> Result<Email> {
    let address = EmailAddress::parse(address).map_err(|problem| Violations::single("email", problem))?;
    let mut transaction = app.database.begin().await?;
    user::lock(&mut transaction, user).await?.ok_or(Error::NotFound(Resource::User))?;
    let address = address.as_str();
    if email::belongs_to_user(&mut transaction, user, address).await?
        || email::is_primary(&mut transaction, address).await?
    {
        return Err(Violations::single("email", TAKEN).into());
    }
    let email = email::insert(&mut transaction, user, address, false, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(email)
}

/// Deletes an address of the current user. Returns None if it does not exist.
#[crate::boxed]
pub async fn delete_own(app: &App, actor: &Actor, id: EmailId) -> Result<Option<Email>> {
    delete(app, access::authorize_own_account(actor)?.account.id(), id).await
}

#[crate::boxed]
pub async fn delete_for_user(app: &App, actor: &Actor, user: UserId, id: EmailId) -> Result<Email> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    find_existing(app, user).await?;
    delete(app, user, id).await?.ok_or(Error::NotFound(Resource::Email))
}

/// Deletes an address. Every change of a user's addresses holds the lock of the user's row, so that the primary address
/// does not change meanwhile.
async fn delete(app: &App, user: UserId, id: EmailId) -> Result<Option<Email>> {
    let mut transaction = app.database.begin().await?;
    user::lock(&mut transaction, user).await?;
    let deleted = email::delete(&mut transaction, user, id).await?;
    holdfast_store::commit(transaction).await?;
    Ok(deleted)
}

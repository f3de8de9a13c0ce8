//! SSH public keys of users.

use holdfast_domain::Violations;
use holdfast_domain::accounts::PublicKey;
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_store::accounts::ssh_key;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::activity::event;
use holdfast_store::commit;

pub use holdfast_store::accounts::ssh_key::SshKey;

use super::user::find_existing;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Resource, Result, access, events};

#[crate::boxed]
pub async fn list_own(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<SshKey>> {
    Ok(ssh_key::list(&app.database, access::authorize_own_account(actor)?.account.id(), page).await?)
}

#[crate::boxed]
pub async fn list_for_user(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<SshKey>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    find_existing(app, user).await?;
    Ok(ssh_key::list(&app.database, user, page).await?)
}

#[crate::boxed]
pub async fn show_own(app: &App, actor: &Actor, id: SshKeyId) -> Result<SshKey> {
    let user = access::authorize_own_account(actor)?.account.id();
    let found = ssh_key::find(&mut *app.database.connection().await?, user, id).await?;
    found.ok_or(Error::NotFound(Resource::Record))
}

#[crate::boxed]
pub async fn show_for_user(app: &App, actor: &Actor, user: UserId, id: SshKeyId) -> Result<SshKey> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    find_existing(app, user).await?;
    let found = ssh_key::find(&mut *app.database.connection().await?, user, id).await?;
    found.ok_or(Error::NotFound(Resource::Key))
}

#[crate::boxed]
pub async fn create_own(app: &App, actor: &Actor, title: &str, key: &str) -> Result<SshKey> {
    access::ensure_may_create_credentials(actor)?;
    create(app, &access::authorize_own_account(actor)?.account.summary, title, key).await
}

#[crate::boxed]
pub async fn create_for_user(app: &App, actor: &Actor, user: UserId, title: &str, key: &str) -> Result<SshKey> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    access::ensure_may_create_credentials(actor)?;
    create(app, &find_existing(app, user).await?.summary(), title, key).await
}

/// Checks the title of a new key, and parses the key.
pub(crate) fn parse(title: &str, key: &str) -> Result<PublicKey> {
    if title.trim().is_empty() {
        return Err(Violations::single("title", BLANK).into());
    }
    let mut violations = Violations::default();
    violations.check_single_line("title", title);
    violations.into_result()?;
    Ok(PublicKey::parse(key)?)
}

/// Returns the error for a key that a user or a project has. It does not say which.
pub(crate) fn taken() -> Error {
    let mut violations = Violations::single("fingerprint", TAKEN);
    violations.add("key", TAKEN);
    violations.into()
}

async fn create(app: &App, user: &UserSummary, title: &str, key: &str) -> Result<SshKey> {
    let key = parse(title, key)?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let key = ssh_key::insert(&mut transaction, user.id, title, &key, now).await;
    let key = key.on_constraint("ssh_keys_fingerprint_key", taken)?;
    event::publish(&mut transaction, None, &events::account::key_added(&key, &user.username), now).await?;
    commit(transaction).await?;
    Ok(key)
}

/// Deletes a key of the current user. Returns None if it does not exist.
#[crate::boxed]
pub async fn delete_own(app: &App, actor: &Actor, id: SshKeyId) -> Result<Option<SshKey>> {
    delete(app, &access::authorize_own_account(actor)?.account.summary, id).await
}

#[crate::boxed]
pub async fn delete_for_user(app: &App, actor: &Actor, user: UserId, id: SshKeyId) -> Result<SshKey> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    delete(app, &find_existing(app, user).await?.summary(), id).await?.ok_or(Error::NotFound(Resource::Key))
}

async fn delete(app: &App, user: &UserSummary, id: SshKeyId) -> Result<Option<SshKey>> {
    let mut transaction = app.database.begin().await?;
    let Some(key) = ssh_key::delete(&mut transaction, user.id, id).await? else { return Ok(None) };
    event::publish(&mut transaction, None, &events::account::key_removed(&key, &user.username), app.clock.now())
        .await?;
    commit(transaction).await?;
    Ok(Some(key))
}

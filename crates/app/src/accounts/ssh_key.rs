//! SSH public keys of users.

use holdfast_domain::Violations;
use holdfast_domain::accounts::PublicKey;
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_store::accounts::ssh_key;
use holdfast_store::accounts::user::Person;
use holdfast_store::activity::event;
use holdfast_store::commit;

pub use holdfast_store::accounts::ssh_key::SshKey;

use super::notice;
use super::user::require;
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list_own(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<SshKey>> {
    Ok(ssh_key::list(&app.database, access::account(actor)?.account.id(), page).await?)
}

pub async fn list_of(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<SshKey>> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    require(app, user).await?;
    Ok(ssh_key::list(&app.database, user, page).await?)
}

pub async fn show_own(app: &App, actor: &Actor, id: SshKeyId) -> Result<SshKey> {
    let user = access::account(actor)?.account.id();
    let found = ssh_key::find(&mut *app.database.connection().await?, user, id).await?;
    found.ok_or(Error::NotFound(Thing::Record))
}

pub async fn create_own(app: &App, actor: &Actor, title: &str, key: &str) -> Result<SshKey> {
    create(app, &access::account(actor)?.account.person, title, key).await
}

pub async fn create_for(app: &App, actor: &Actor, user: UserId, title: &str, key: &str) -> Result<SshKey> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    create(app, &require(app, user).await?.person(), title, key).await
}

async fn create(app: &App, user: &Person, title: &str, key: &str) -> Result<SshKey> {
    if title.trim().is_empty() {
        return Err(Violations::of("title", BLANK).into());
    }
    let mut violations = Violations::default();
    violations.check_line("title", title);
    violations.into_result()?;
    let key = PublicKey::parse(key)?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let taken = || {
        let mut violations = Violations::of("fingerprint", TAKEN);
        violations.add("key", TAKEN);
        violations.into()
    };
    let key = ssh_key::insert(&mut transaction, user.id, title, &key, now).await;
    let key = key.on_constraint("ssh_keys_fingerprint_key", taken)?;
    event::tell(&mut transaction, None, &notice::key_added(&key, &user.username), now).await?;
    commit(transaction).await?;
    Ok(key)
}

/// None when it was gone already.
pub async fn delete_own(app: &App, actor: &Actor, id: SshKeyId) -> Result<Option<SshKey>> {
    delete(app, &access::account(actor)?.account.person, id).await
}

pub async fn delete_of(app: &App, actor: &Actor, user: UserId, id: SshKeyId) -> Result<SshKey> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    delete(app, &require(app, user).await?.person(), id).await?.ok_or(Error::NotFound(Thing::Key))
}

async fn delete(app: &App, user: &Person, id: SshKeyId) -> Result<Option<SshKey>> {
    let mut transaction = app.database.begin().await?;
    let Some(key) = ssh_key::delete(&mut transaction, user.id, id).await? else { return Ok(None) };
    event::tell(&mut transaction, None, &notice::key_removed(&key, &user.username), app.clock.now()).await?;
    commit(transaction).await?;
    Ok(Some(key))
}

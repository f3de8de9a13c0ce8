//! SSH public keys of users.

use holdfast_domain::Violations;
use holdfast_domain::accounts::PublicKey;
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::{BLANK, TAKEN};
use holdfast_store::accounts::ssh_key;

pub use holdfast_store::accounts::ssh_key::SshKey;

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
    create(app, access::account(actor)?.account.id(), title, key).await
}

pub async fn create_for(app: &App, actor: &Actor, user: UserId, title: &str, key: &str) -> Result<SshKey> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    require(app, user).await?;
    create(app, user, title, key).await
}

async fn create(app: &App, user: UserId, title: &str, key: &str) -> Result<SshKey> {
    if title.trim().is_empty() {
        return Err(Violations::of("title", BLANK).into());
    }
    let mut violations = Violations::default();
    violations.check_line("title", title);
    violations.into_result()?;
    let key = PublicKey::parse(key)?;
    let mut connection = app.database.connection().await?;
    ssh_key::insert(&mut connection, user, title, &key, app.clock.now()).await.on_constraint(
        "ssh_keys_fingerprint_key",
        || {
            let mut violations = Violations::of("fingerprint", TAKEN);
            violations.add("key", TAKEN);
            violations.into()
        },
    )
}

/// None when it was gone already.
pub async fn delete_own(app: &App, actor: &Actor, id: SshKeyId) -> Result<Option<SshKey>> {
    let user = access::account(actor)?.account.id();
    Ok(ssh_key::delete(&mut *app.database.connection().await?, user, id).await?)
}

pub async fn delete_of(app: &App, actor: &Actor, user: UserId, id: SshKeyId) -> Result<SshKey> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    require(app, user).await?;
    let deleted = ssh_key::delete(&mut *app.database.connection().await?, user, id).await?;
    deleted.ok_or(Error::NotFound(Thing::Key))
}

//! Namespaces: those in which projects can be created, and the kind of a namespace by its path.

use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction};
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::namespaces::namespace;

pub use holdfast_store::namespaces::namespace::Namespace;

use crate::{Actor, App, Error, Result, access};

/// Lists the namespaces in which the current user can create projects. Administrators see all namespaces.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, search: Option<&str>, page: PageRequest) -> Result<Page<Namespace>> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let current_user = actor.current_user()?;
    let creator = (!actor.is_administrator()).then_some(current_user.account.id());
    Ok(namespace::list(&app.database, creator, search, page, app.today()).await?)
}

/// Finds the user or group with this path, which may be a former one. Returns None if there is none that the actor may
/// see. For an anonymous actor everything but a public group requires authentication, so that the response does not
/// reveal which names are taken.
#[crate::boxed]
pub async fn find_kind(app: &App, actor: &Actor, path: &str) -> Result<Option<Namespace>> {
    let mut connection = app.database.connection().await?;
    let found = namespace::find_by_path(&mut connection, path).await?;
    if let Some(group) = found.as_ref().filter(|found| found.kind == NamespaceKind::Group) {
        match access::authorize_group(app, &mut connection, actor, &GroupRef::Id(group.id), GroupAction::Read).await {
            Ok(_) => return Ok(found),
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    access::authorize_instance(actor, InstanceAction::ReadUsers)?;
    Ok(found.filter(|found| found.kind == NamespaceKind::User))
}

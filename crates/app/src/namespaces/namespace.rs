//! The namespaces in which projects can be created.

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::namespaces::namespace;

pub use holdfast_store::namespaces::namespace::Namespace;

use crate::{Actor, App, Result, access};

/// Lists the namespaces in which the current user can create projects. Administrators see all namespaces.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, search: Option<&str>, page: PageRequest) -> Result<Page<Namespace>> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let current_user = actor.current_user()?;
    let creator = (!actor.is_administrator()).then_some(current_user.account.id());
    Ok(namespace::list(&app.database, creator, search, page, app.today()).await?)
}

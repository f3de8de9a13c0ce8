//! The places projects can be created in.

use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::namespaces::namespace;

pub use holdfast_store::namespaces::namespace::Namespace;

use crate::{Actor, App, Result, access};

/// Administrators see all of them.
pub async fn list(app: &App, actor: &Actor, search: Option<&str>, page: PageRequest) -> Result<Page<Namespace>> {
    access::instance(actor, InstanceAction::ListGroups)?;
    let caller = actor.caller()?;
    let creator = (!actor.is_administrator()).then_some(caller.account.id());
    Ok(namespace::list(&app.database, creator, search, page, app.today()).await?)
}

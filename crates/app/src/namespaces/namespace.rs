//! Namespaces: those in which projects can be created, and the kind of a namespace by its path.

use holdfast_domain::ids::NamespaceId;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction};
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::namespaces::namespace;

pub use holdfast_store::namespaces::namespace::Namespace;

use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the namespaces in which the current user can create projects. Administrators see all namespaces.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, search: Option<&str>, page: PageRequest) -> Result<Page<Namespace>> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let current_user = actor.current_user()?;
    let creator = (!actor.is_administrator()).then_some(current_user.account.id());
    Ok(namespace::list(&app.database, creator, search, page, app.today()).await?)
}

/// Lists the namespaces that the current user owns: the user's own one, and groups.
#[crate::boxed]
pub async fn list_owned(app: &App, actor: &Actor, search: Option<&str>, page: PageRequest) -> Result<Page<Namespace>> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let owner = actor.current_user()?.account.id();
    Ok(namespace::list_owned(&app.database, owner, search, page, app.today()).await?)
}

/// A reference to a namespace in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceRef {
    Id(NamespaceId),
    Path(String),
}

/// Returns a namespace by its id or its path, which may be a former one. Fails if there is none that the current user
/// may see.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, namespace: &NamespaceRef) -> Result<Namespace> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let mut connection = app.database.connection().await?;
    let found = match namespace {
        NamespaceRef::Id(id) => namespace::find(&mut connection, *id).await?,
        NamespaceRef::Path(path) => namespace::find_by_path(&mut connection, path).await?,
    };
    let unknown = || Error::NotFound(Resource::Literal("404 Namespace Not Found"));
    let found = found.ok_or_else(unknown)?;
    if found.kind == NamespaceKind::Group {
        let group = GroupRef::Id(found.id);
        match access::authorize_group(app, &mut connection, actor, &group, GroupAction::Read).await {
            Ok(_) => {}
            Err(Error::NotFound(_)) => return Err(unknown()),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Whether a path is taken, and another one that is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathAvailability {
    pub is_taken: bool,
    /// None if the path is free, or if many similar ones are taken, too.
    pub suggestion: Option<String>,
}

/// Returns whether a path is taken. It does not matter whether the current user may see what has the path: the attempt
/// to create a group with it would also show that it is taken.
#[crate::boxed]
pub async fn check_path(app: &App, actor: &Actor, path: &str) -> Result<PathAvailability> {
    access::authorize_instance(actor, InstanceAction::ListGroups)?;
    let mut connection = app.database.connection().await?;
    if !namespace::is_path_taken(&mut connection, path).await? {
        return Ok(PathAvailability { is_taken: false, suggestion: None });
    }
    let suffix = namespace::find_free_suffix(&mut connection, path).await?;
    Ok(PathAvailability { is_taken: true, suggestion: suffix.map(|suffix| format!("{path}{suffix}")) })
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

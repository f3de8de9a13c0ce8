//! What the pages about hooks show. Each use case loads a page as a whole.

use std::collections::HashMap;

use holdfast_domain::ids::HookId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_store::Connection;
use holdfast_store::hooks::{delivery, hook};

pub use holdfast_store::hooks::delivery::NextDelivery;

use super::address;
use super::delivery::{Delivery, DeliveryDetail, load_detail};
use super::hook::{Hook, HookScope};
use crate::projects::project::Project;
use crate::{Actor, App, Error, Resource, Result};

/// The hooks of a project or of the instance.
#[derive(Debug)]
pub struct HookList {
    /// None for the hooks of the instance.
    pub project: Option<Project>,
    pub hooks: Page<Hook>,
    /// The latest delivery of each hook that has one.
    pub latest: HashMap<HookId, Delivery>,
}

/// Lists hooks with their latest deliveries.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, scope: &HookScope, page: PageRequest) -> Result<HookList> {
    let mut connection = app.database.connection().await?;
    let (owner, project) = scope.authorize_with_project(app, &mut connection, actor).await?;
    drop(connection);
    let hooks = hook::list(&app.database, owner, page).await?;
    let ids: Vec<HookId> = hooks.items.iter().map(|hook| hook.id).collect();
    let latest = delivery::list_latest(&mut *app.database.connection().await?, &ids).await?;
    Ok(HookList { project, hooks, latest: latest.into_iter().collect() })
}

/// Returns the project to which the actor may add hooks, or None for the instance.
#[crate::boxed]
pub async fn show_scope(app: &App, actor: &Actor, scope: &HookScope) -> Result<Option<Project>> {
    let mut connection = app.database.connection().await?;
    Ok(scope.authorize_with_project(app, &mut connection, actor).await?.1)
}

/// A hook with a page of its deliveries.
#[derive(Debug)]
pub struct HookDetail {
    /// None for a hook of the instance.
    pub project: Option<Project>,
    pub hook: Hook,
    pub has_token: bool,
    /// Whether the URL contains a user name or a password, which are not shown.
    pub has_credentials: bool,
    /// A page of the deliveries of the hook, the latest first.
    pub deliveries: Page<Delivery>,
    /// The delivery that the hook sends next, if one is pending.
    pub next: Option<NextDelivery>,
}

/// Returns a hook with its deliveries, the latest first.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, scope: &HookScope, id: HookId, page: PageRequest) -> Result<HookDetail> {
    let mut connection = app.database.connection().await?;
    let (project, hook) = find_hook(app, &mut connection, actor, scope, id).await?;
    let receiver = delivery::find_receiver(&mut connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let next = delivery::find_next(&mut connection, id).await?;
    drop(connection);
    let deliveries = delivery::list(&app.database, id, page).await?;
    let has_credentials = address::has_credentials(&receiver.url);
    Ok(HookDetail { project, hook, has_token: receiver.token.is_set(), has_credentials, deliveries, next })
}

/// A delivery with its hook.
#[derive(Debug)]
pub struct HookDelivery {
    /// None for a hook of the instance.
    pub project: Option<Project>,
    pub hook: Hook,
    pub detail: DeliveryDetail,
}

/// Returns a delivery with its request and response, without secrets.
#[crate::boxed]
pub async fn show_delivery(
    app: &App,
    actor: &Actor,
    scope: &HookScope,
    id: HookId,
    sequence: i64,
) -> Result<HookDelivery> {
    let mut connection = app.database.connection().await?;
    let (project, hook) = find_hook(app, &mut connection, actor, scope, id).await?;
    drop(connection);
    let detail = load_detail(app, id, sequence).await?;
    Ok(HookDelivery { project, hook, detail })
}

async fn find_hook(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    scope: &HookScope,
    id: HookId,
) -> Result<(Option<Project>, Hook)> {
    let (owner, project) = scope.authorize_with_project(app, connection, actor).await?;
    let hook = hook::find(connection, owner, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    Ok((project, hook))
}

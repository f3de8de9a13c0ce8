//! Shows and replays the deliveries of hooks.

use holdfast_domain::ids::HookId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_store::hooks::delivery::DeliveryWithBody;
use holdfast_store::hooks::stored_event::{self, BodyKey};
use holdfast_store::hooks::{delivery, hook, queue};
use holdfast_store::{Connection, commit};
use serde_json::Value;

pub use holdfast_store::hooks::delivery::{Delivery, DeliveryState};

use super::hook::HookScope;
use super::request::Request;
use super::stored_body;
use crate::{Actor, App, Error, Resource, Result};

const DELIVERY_NOT_FOUND: Error = Error::NotFound(Resource::Literal("404 Delivery Not Found"));

async fn find_hook(app: &App, connection: &mut Connection, actor: &Actor, scope: &HookScope, id: HookId) -> Result<()> {
    let owner = scope.authorize(app, connection, actor).await?;
    hook::find(connection, owner, id).await?.map(drop).ok_or(Error::NotFound(Resource::Record))
}

/// Lists the deliveries of a hook, newest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    scope: &HookScope,
    hook: HookId,
    page: PageRequest,
) -> Result<Page<Delivery>> {
    let mut connection = app.database.connection().await?;
    find_hook(app, &mut connection, actor, scope, hook).await?;
    drop(connection);
    Ok(delivery::list(&app.database, hook, page).await?)
}

/// A delivery with its request, without secrets.
#[derive(Clone, Debug)]
pub struct DeliveryDetail {
    pub delivery: Delivery,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    /// `None` if the event has been deleted after its retention period.
    pub body: Option<Value>,
}

/// Lists the deliveries of a hook with their requests, newest first. The bodies of deliveries that were not sent yet,
/// and very long bodies, are left out.
#[crate::boxed]
pub async fn list_details(
    app: &App,
    actor: &Actor,
    scope: &HookScope,
    hook: HookId,
    page: PageRequest,
) -> Result<Page<DeliveryDetail>> {
    let mut connection = app.database.connection().await?;
    find_hook(app, &mut connection, actor, scope, hook).await?;
    let receiver = delivery::find_receiver(&mut connection, hook).await?.ok_or(Error::NotFound(Resource::Record))?;
    let page = delivery::list_with_bodies(&mut connection, hook, page).await?;
    Ok(page.map(|found| {
        let DeliveryWithBody { delivery, body } = found;
        let request = Request::new(&receiver, &delivery.kind, delivery.id(), delivery.sequence);
        let headers = request.redacted_headers(delivery.attempted_at);
        let body = body.and_then(|body| serde_json::from_slice(&body).ok());
        DeliveryDetail { url: request.redacted_url(), headers, body, delivery }
    }))
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, scope: &HookScope, hook: HookId, sequence: i64) -> Result<DeliveryDetail> {
    find_hook(app, &mut *app.database.connection().await?, actor, scope, hook).await?;
    load_detail(app, hook, sequence).await
}

/// Loads a delivery with its request. The caller has authorized the actor for the hook.
pub(super) async fn load_detail(app: &App, hook: HookId, sequence: i64) -> Result<DeliveryDetail> {
    let mut connection = app.database.connection().await?;
    let found = delivery::find(&mut connection, hook, sequence).await?.ok_or(DELIVERY_NOT_FOUND)?;
    let receiver = delivery::find_receiver(&mut connection, hook).await?.ok_or(Error::NotFound(Resource::Record))?;
    let (outbox_id, created_at) = (found.outbox_id, found.created_at);
    let key = BodyKey { outbox_id, created_at, for_project_hook: receiver.is_project_hook };
    let event = stored_event::find(&mut connection, key).await?;
    drop(connection);
    let body = match event {
        Some(event) => {
            let body = stored_body::find_or_create(app, key, event).await?;
            Some(serde_json::from_slice(&body).map_err(|error| Error::Internal(error.into()))?)
        }
        None => None,
    };
    let request = Request::new(&receiver, &found.kind, found.id(), sequence);
    let headers = request.redacted_headers(found.attempted_at);
    Ok(DeliveryDetail { url: request.redacted_url(), headers, body, delivery: found })
}

/// Sends a delivery again. The new delivery is queued behind all pending ones, with a new sequence number and the
/// original id.
#[crate::boxed]
pub async fn replay(app: &App, actor: &Actor, scope: &HookScope, hook: HookId, sequence: i64) -> Result<Delivery> {
    let mut transaction = app.database.begin().await?;
    find_hook(app, &mut transaction, actor, scope, hook).await?;
    let found = delivery::find(&mut transaction, hook, sequence).await?.ok_or(DELIVERY_NOT_FOUND)?;
    let new = delivery::replay(&mut transaction, hook, &found, app.clock.now()).await?.ok_or(DELIVERY_NOT_FOUND)?;
    let new = delivery::find(&mut transaction, hook, new).await?.ok_or(DELIVERY_NOT_FOUND)?;
    commit(transaction).await?;
    Ok(new)
}

/// Replays all deliveries from this sequence number on, at once, and returns how many there are. Pending deliveries
/// before it are skipped.
#[crate::boxed]
pub async fn replay_from(app: &App, actor: &Actor, scope: &HookScope, hook: HookId, sequence: i64) -> Result<i64> {
    let mut transaction = app.database.begin().await?;
    find_hook(app, &mut transaction, actor, scope, hook).await?;
    let last = delivery::lock_last_sequence(&mut transaction, hook).await?.ok_or(Error::NotFound(Resource::Record))?;
    // The number after the last one is valid: the hook then continues with future deliveries.
    if !(1..=last + 1).contains(&sequence) {
        let hint =
            if last == 0 { "the hook has no deliveries yet".into() } else { format!("the last delivery is {last}") };
        return Err(Error::Rejected(format!("There is no delivery {sequence}: {hint}")));
    }
    queue::retry_now(&mut transaction, hook, Some(sequence - 1), app.clock.now()).await?;
    commit(transaction).await?;
    Ok(last - sequence + 1)
}

//! What hooks were told: looking at it, and having it told again.

use holdfast_domain::ids::HookId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_store::hooks::stored_event::{self, BodyKey};
use holdfast_store::hooks::{delivery, hook, queue};
use holdfast_store::{Connection, commit};
use serde_json::Value;

pub use holdfast_store::hooks::delivery::{Delivery, State};

use super::body;
use super::hook::Whose;
use super::request::Request;
use crate::{Actor, App, Error, Result, Thing};

const NO_DELIVERY: Error = Error::NotFound(Thing::Named("404 Delivery Not Found"));

async fn find_hook(app: &App, connection: &mut Connection, actor: &Actor, whose: &Whose, id: HookId) -> Result<()> {
    let owner = whose.owner(app, connection, actor).await?;
    hook::find(connection, owner, id).await?.map(drop).ok_or(Error::NotFound(Thing::Record))
}

/// The last first.
pub async fn list(app: &App, actor: &Actor, whose: &Whose, hook: HookId, page: PageRequest) -> Result<Page<Delivery>> {
    let mut connection = app.database.connection().await?;
    find_hook(app, &mut connection, actor, whose, hook).await?;
    drop(connection);
    Ok(delivery::list(&app.database, hook, page).await?)
}

/// What is sent, with nothing in it that is secret.
#[derive(Clone, Debug)]
pub struct Shown {
    pub delivery: Delivery,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    /// None if it is no longer kept.
    pub body: Option<Value>,
}

pub async fn show(app: &App, actor: &Actor, whose: &Whose, hook: HookId, sequence: i64) -> Result<Shown> {
    let mut connection = app.database.connection().await?;
    find_hook(app, &mut connection, actor, whose, hook).await?;
    let found = delivery::find(&mut connection, hook, sequence).await?.ok_or(NO_DELIVERY)?;
    let receiver = delivery::receiver(&mut connection, hook).await?.ok_or(Error::NotFound(Thing::Record))?;
    let (outbox_id, created_at) = (found.outbox_id, found.created_at);
    let key = BodyKey { outbox_id, created_at, for_project_hook: receiver.is_of_project };
    let event = stored_event::find(&mut connection, key).await?;
    drop(connection);
    let body = match event {
        Some(event) => {
            let body = body::find_or_create(app, key, event).await?;
            Some(serde_json::from_slice(&body).map_err(|error| Error::Internal(error.into()))?)
        }
        None => None,
    };
    let request = Request::new(&receiver, &found.kind, found.id(), sequence);
    let headers = request.shown_headers(found.attempted_at);
    Ok(Shown { url: request.shown_url(), headers, body, delivery: found })
}

/// Sends it again, behind everything that waits, under a number of its own and under its old id.
pub async fn replay(app: &App, actor: &Actor, whose: &Whose, hook: HookId, sequence: i64) -> Result<Delivery> {
    let mut transaction = app.database.begin().await?;
    find_hook(app, &mut transaction, actor, whose, hook).await?;
    let found = delivery::find(&mut transaction, hook, sequence).await?.ok_or(NO_DELIVERY)?;
    let new = delivery::replay(&mut transaction, hook, &found, app.clock.now()).await?.ok_or(NO_DELIVERY)?;
    let new = delivery::find(&mut transaction, hook, new).await?.ok_or(NO_DELIVERY)?;
    commit(transaction).await?;
    Ok(new)
}

/// Lets a hook go on from that number, at once: what was delivered after it is delivered again, what was not is, and
/// what waits before it is given up. How many that are.
pub async fn replay_from(app: &App, actor: &Actor, whose: &Whose, hook: HookId, sequence: i64) -> Result<i64> {
    let mut transaction = app.database.begin().await?;
    find_hook(app, &mut transaction, actor, whose, hook).await?;
    let last = delivery::lock_last(&mut transaction, hook).await?.ok_or(Error::NotFound(Thing::Record))?;
    // With the number after the last one it goes on with what is still to come.
    if !(1..=last + 1).contains(&sequence) {
        let known = if last == 0 { "nothing was sent yet".into() } else { format!("the last one is {last}") };
        return Err(Error::Refused(format!("There is no delivery {sequence}: {known}")));
    }
    queue::hurry(&mut transaction, hook, Some(sequence - 1), app.clock.now()).await?;
    commit(transaction).await?;
    Ok(last - sequence + 1)
}

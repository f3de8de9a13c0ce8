//! Jobs, for operators.

use std::time::Duration;

use holdfast_domain::ids::JobId;
use holdfast_domain::policy::InstanceAction;
use holdfast_store::worker::job;

pub use holdfast_store::worker::job::Job;

use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(app: &App, actor: &Actor, at_most: i64) -> Result<Vec<Job>> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    Ok(job::list(&app.database, at_most).await?)
}

/// The queue of all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    pub waiting: i64,
    pub oldest_waiting: Duration,
    pub given_up: i64,
}

pub async fn overview(app: &App) -> Result<Overview> {
    let queue = job::overview(&app.database).await?;
    let oldest_waiting = queue.oldest.and_then(|since| (app.clock.now() - since).to_std().ok()).unwrap_or_default();
    Ok(Overview { waiting: queue.waiting, oldest_waiting, given_up: queue.given_up })
}

/// Lets a job begin anew at once, also one that was given up.
pub async fn retry(app: &App, actor: &Actor, id: JobId) -> Result<()> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    if job::retry(&app.database, id).await? { Ok(()) } else { Err(Error::NotFound(Thing::Record)) }
}

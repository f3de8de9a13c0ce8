//! Jobs, for operators.

use holdfast_domain::ids::JobId;
use holdfast_domain::policy::InstanceAction;
use holdfast_store::worker::job;

pub use holdfast_store::worker::job::Job;

use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(app: &App, actor: &Actor, at_most: i64) -> Result<Vec<Job>> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    Ok(job::list(&app.database, at_most).await?)
}

/// Lets a job begin anew at once, also one that was given up.
pub async fn retry(app: &App, actor: &Actor, id: JobId) -> Result<()> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    if job::retry(&app.database, id).await? { Ok(()) } else { Err(Error::NotFound(Thing::Record)) }
}

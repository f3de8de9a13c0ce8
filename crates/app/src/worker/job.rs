//! Jobs, for operators.

use holdfast_domain::policy::InstanceAction;
use holdfast_store::worker::job;

pub use holdfast_store::worker::job::Job;

use crate::{Actor, App, Result, access};

pub async fn list(app: &App, actor: &Actor, at_most: i64) -> Result<Vec<Job>> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    Ok(job::list(&app.database, at_most).await?)
}

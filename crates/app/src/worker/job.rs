//! Lists and retries background jobs, for operators. The jobs of runners are builds: see `ci::job`.

use std::time::Duration;

use holdfast_domain::ids::JobId;
use holdfast_domain::policy::InstanceAction;
use holdfast_store::worker::job;

pub use holdfast_store::worker::job::Job;

use crate::{Actor, App, Error, Resource, Result, access};

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, limit: i64) -> Result<Vec<Job>> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    Ok(job::list(&app.database, limit).await?)
}

/// Statistics of the job queue, which all nodes share.
#[derive(Clone, Copy, Debug)]
pub struct JobStats {
    pub pending: i64,
    pub oldest_pending: Duration,
    pub failed: i64,
}

#[crate::boxed]
pub async fn stats(app: &App) -> Result<JobStats> {
    let queue = job::overview(&app.database).await?;
    let oldest_pending = queue.oldest.and_then(|since| (app.clock.now() - since).to_std().ok()).unwrap_or_default();
    Ok(JobStats { pending: queue.waiting, oldest_pending, failed: queue.failed })
}

/// The jobs and the statistics of the queue, for the page of administrators.
#[derive(Clone, Debug)]
pub struct JobReport {
    pub jobs: Vec<Job>,
    pub stats: JobStats,
}

/// Returns the unfinished jobs and the latest finished ones, at most `limit`, with the statistics of the queue.
#[crate::boxed]
pub async fn report(app: &App, actor: &Actor, limit: i64) -> Result<JobReport> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    Ok(JobReport { jobs: job::list(&app.database, limit).await?, stats: stats(app).await? })
}

/// Runs a job again at once, even if it has failed permanently.
#[crate::boxed]
pub async fn retry(app: &App, actor: &Actor, id: JobId) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    if job::retry(&app.database, id).await? { Ok(()) } else { Err(Error::NotFound(Resource::Record)) }
}

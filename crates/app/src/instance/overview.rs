//! The state of the instance, for administrators.

use chrono::TimeDelta;
use holdfast_domain::policy::InstanceAction;
use holdfast_store::instance::overview;

pub use holdfast_store::instance::overview::{Counts, HourlyEvents, MAX_COUNTED};

use crate::ci::queue::{self, BuildQueueStats};
use crate::hooks::dispatch::{self, HookStats};
use crate::worker::job::{self, JobStats};
use crate::{Actor, App, Result, access};

/// The number of hours that the plot shows.
pub const SHOWN_HOURS: i64 = 24;

#[derive(Clone, Debug)]
pub struct Overview {
    pub counts: Counts,
    pub jobs: JobStats,
    pub hooks: HookStats,
    pub builds: BuildQueueStats,
    /// Number of standbys of the database that are connected, and their delay in seconds if it is known.
    pub replicas: i64,
    pub replication_lag_seconds: Option<f64>,
    /// The events of the last hours, as far as they were read.
    pub events: Vec<HourlyEvents>,
    /// Whether there were more events than are read, so that the oldest hours are not complete.
    pub has_more_events: bool,
}

/// Returns what needs attention, and figures about the instance.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor) -> Result<Overview> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let now = app.clock.now();
    let mut connection = app.database.connection().await?;
    // The partition of the next day is needed first.
    let counts = overview::count(&mut connection, (now + TimeDelta::days(1)).date_naive()).await?;
    let since = now - TimeDelta::hours(SHOWN_HOURS);
    let events = overview::count_events_by_hour(&mut connection, since, now).await?;
    drop(connection);
    let read_events: i64 = events.iter().map(|hour| hour.events).sum();
    let replication = app.database.replication_status().await?;
    Ok(Overview {
        counts,
        jobs: job::stats(app).await?,
        hooks: dispatch::stats(app).await?,
        builds: queue::stats(app).await?,
        replicas: replication.replicas,
        replication_lag_seconds: replication.lag_seconds,
        events,
        has_more_events: read_events >= overview::MAX_READ_EVENTS,
    })
}

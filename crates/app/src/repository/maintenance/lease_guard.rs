//! Holds the lease of a maintenance run.

use std::time::Duration;

use holdfast_store::repository::lease::{self, Lease};
use holdfast_store::{Connection, Database};
use tokio::task::JoinHandle;

use super::ALREADY_RUNNING;
use crate::{App, Error, Result};

/// How long a lease outlives a node that crashes.
const LEASE_DURATION: Duration = Duration::from_secs(120);
const RENEW_INTERVAL: Duration = Duration::from_secs(30);

/// A lease that is renewed in the background. A process that was paused for too long may have lost it, and learns that
/// from [`LeaseGuard::check`].
pub struct LeaseGuard {
    lease: Lease,
    database: Database,
    renewal: JoinHandle<()>,
    is_released: bool,
}

impl LeaseGuard {
    /// Acquires a lease. Returns a conflict if another process holds it.
    pub async fn acquire(app: &App, name: String) -> Result<Self> {
        let acquired = lease::acquire(&mut *app.database.connection().await?, &name, LEASE_DURATION).await?;
        let lease = acquired.ok_or_else(|| Error::Conflict(ALREADY_RUNNING.into()))?;
        let database = app.database.clone();
        let renewal = tokio::spawn(renew(database.clone(), lease.clone()));
        Ok(Self { lease, database, renewal, is_released: false })
    }

    /// Locks the lease, or returns a conflict if it was lost. Called in the transaction that commits the result of the
    /// work.
    pub async fn check(&self, connection: &mut Connection) -> Result<()> {
        if lease::lock_if_held(connection, &self.lease).await? {
            Ok(())
        } else {
            Err(Error::Conflict(ALREADY_RUNNING.into()))
        }
    }

    pub async fn release(mut self) {
        self.is_released = true;
        release_lease(self.database.clone(), self.lease.clone()).await;
    }
}

/// Releases the lease even if the work is aborted.
impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.renewal.abort();
        if !self.is_released {
            tokio::spawn(release_lease(self.database.clone(), self.lease.clone()));
        }
    }
}

async fn release_lease(database: Database, lease: Lease) {
    let release = async { lease::release(&mut *database.connection().await?, &lease).await };
    if let Err(error) = release.await {
        tracing::warn!(%error, name = lease.name, "releasing lease failed; it expires by itself");
    }
}

async fn renew(database: Database, lease: Lease) {
    let mut interval = tokio::time::interval(RENEW_INTERVAL);
    loop {
        interval.tick().await;
        let renewal = async { lease::renew(&mut *database.connection().await?, &lease, LEASE_DURATION).await };
        match renewal.await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, name = lease.name, "renewing lease failed, retrying"),
        }
    }
}

use std::time::Duration;

use holdfast_store::repository::lease::{self, Lease};
use holdfast_store::{Connection, Database};
use tokio::task::JoinHandle;

use super::BUSY;
use crate::{App, Error, Result};

/// So long the right outlives a node that dies.
const TIME: Duration = Duration::from_secs(120);
const RENEWED: Duration = Duration::from_secs(30);

/// The right to do something that only one may do at a time. Who was thought dead, and is not, finds at the end that it
/// has lost it.
pub struct Held {
    lease: Lease,
    database: Database,
    renewal: JoinHandle<()>,
    is_given_back: bool,
}

impl Held {
    pub async fn take(app: &App, name: String) -> Result<Self> {
        let taken = lease::take(&mut *app.database.connection().await?, &name, TIME).await?;
        let lease = taken.ok_or_else(|| Error::Conflict(BUSY.into()))?;
        let database = app.database.clone();
        let renewal = tokio::spawn(renew(database.clone(), lease.clone()));
        Ok(Self { lease, database, renewal, is_given_back: false })
    }

    /// In the transaction that makes count what was done.
    pub async fn check(&self, connection: &mut Connection) -> Result<()> {
        if lease::is_held(connection, &self.lease).await? { Ok(()) } else { Err(Error::Conflict(BUSY.into())) }
    }

    pub async fn give_back(mut self) {
        self.is_given_back = true;
        give_back(self.database.clone(), self.lease.clone()).await;
    }
}

/// Also where the work was given up.
impl Drop for Held {
    fn drop(&mut self) {
        self.renewal.abort();
        if !self.is_given_back {
            tokio::spawn(give_back(self.database.clone(), self.lease.clone()));
        }
    }
}

async fn give_back(database: Database, lease: Lease) {
    let give_back = async { lease::give_back(&mut *database.connection().await?, &lease).await };
    if let Err(error) = give_back.await {
        tracing::warn!(%error, name = lease.name, "a lease stays until it runs out");
    }
}

async fn renew(database: Database, lease: Lease) {
    let mut every = tokio::time::interval(RENEWED);
    loop {
        every.tick().await;
        let renewed = async { lease::renew(&mut *database.connection().await?, &lease, TIME).await };
        match renewed.await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, name = lease.name, "a lease cannot be renewed"),
        }
    }
}

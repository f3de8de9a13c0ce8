//! Database faults: connections that are terminated during transactions, and crashes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_app::App;
use holdfast_store::repository::audit;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::process::Command;

use crate::Harness;
use crate::faults::{FaultKind, FaultTarget};

/// Range of milliseconds between two faults.
const CUT_INTERVAL_MILLIS: std::ops::Range<u64> = 1000..3000;
const RESTART_INTERVAL_MILLIS: std::ops::Range<u64> = 20_000..40_000;

pub async fn cut_connections(harness: Arc<Harness>, app: Arc<App>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(0x0c07));
    while harness.pause(Duration::from_millis(random.random_range(CUT_INTERVAL_MILLIS))).await {
        let count = random.random_range(1..4);
        // Errors are ignored: the connection of this task may be terminated, too.
        cut_batch(&harness, &app, &mut random, count).await.ok();
    }
    Ok(())
}

/// Terminates database connections, preferably during a transaction if one is found within half a second.
async fn cut_batch(harness: &Harness, app: &App, random: &mut StdRng, count: usize) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let mut interval = tokio::time::interval(Duration::from_millis(2));
    let mut backends = Vec::new();
    for _ in 0..250 {
        interval.tick().await;
        backends = audit::list_backends(&mut connection).await?;
        if backends.iter().any(|it| it.in_transaction) {
            backends.retain(|it| it.in_transaction);
            break;
        }
    }
    backends.shuffle(random);
    for backend in backends.iter().take(count) {
        let _fault = harness.faults.inject(FaultKind::CutConnection, FaultTarget::All);
        audit::terminate_backend(&mut connection, backend.pid).await?;
    }
    Ok(())
}

/// Crashes and restarts the database with the command of `--restart-database`.
pub async fn restart_database(harness: Arc<Harness>, command: String) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(0x0da7a));
    while harness.pause(Duration::from_millis(random.random_range(RESTART_INTERVAL_MILLIS))).await {
        let _fault = harness.faults.inject(FaultKind::RestartedDatabase, FaultTarget::All);
        let output = Command::new("sh").arg("-c").arg(&command).kill_on_drop(true).output();
        let output = tokio::time::timeout(Duration::from_secs(300), output).await;
        let output = output.context("the database was not restarted within five minutes")??;
        if !output.status.success() {
            bail!("{command} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok(())
}

//! Faults of the database: connections that are cut in the middle of a transaction, and crashes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_app::App;
use holdfast_store::repository::audit;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::process::Command;

use super::faults::{Kind, Victim};
use crate::command::torture::World;

/// Milliseconds from one time to the next.
const CUTS: std::ops::Range<u64> = 1000..3000;
const RESTARTS: std::ops::Range<u64> = 20_000..40_000;

pub async fn cut(world: Arc<World>, app: Arc<App>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(0x0c07));
    while world.pause(Duration::from_millis(random.random_range(CUTS))).await {
        let count = random.random_range(1..4);
        // This connection, too, may be the one that is cut.
        cut_some(&world, &app, &mut random, count).await.ok();
    }
    Ok(())
}

/// In the middle of a transaction if one is found within half a second.
async fn cut_some(world: &World, app: &App, random: &mut StdRng, count: usize) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let mut every = tokio::time::interval(Duration::from_millis(2));
    let mut victims = Vec::new();
    for _ in 0..250 {
        every.tick().await;
        victims = audit::backends(&mut connection).await?;
        if victims.iter().any(|it| it.in_transaction) {
            victims.retain(|it| it.in_transaction);
            break;
        }
    }
    victims.shuffle(random);
    for victim in victims.iter().take(count) {
        let _strike = world.faults.strike(Kind::CutConnection, Victim::All);
        audit::end_backend(&mut connection, victim.pid).await?;
    }
    Ok(())
}

/// By a command of whoever runs the database.
pub async fn restart(world: Arc<World>, command: String) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(0x0da7a));
    while world.pause(Duration::from_millis(random.random_range(RESTARTS))).await {
        let _strike = world.faults.strike(Kind::RestartedDatabase, Victim::All);
        let ended = Command::new("sh").arg("-c").arg(&command).kill_on_drop(true).output();
        let ended = tokio::time::timeout(Duration::from_secs(300), ended).await;
        let ended = ended.context("the database was not restarted within five minutes")??;
        if !ended.status.success() {
            bail!("{command} failed: {}", String::from_utf8_lossy(&ended.stderr).trim());
        }
    }
    Ok(())
}

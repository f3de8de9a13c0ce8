use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_store::repository::audit;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::World;

/// Kills nodes at any moment, now and then all of them, and starts them again with what is left of their caches.
pub async fn run(world: Arc<World>, app: Arc<App>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed ^ u64::MAX);
    while world.pause(Duration::from_millis(random.random_range(100..2000))).await {
        let mut victims = world.nodes.clone();
        victims.shuffle(&mut random);
        victims.truncate(match random.random_range(0..10) {
            0..2 => world.nodes.len(),
            2..5 => 2,
            _ => 1,
        });
        match random.random_range(0..10) {
            0..4 => wait_for(&app, Moment::Committed).await?,
            4..6 => wait_for(&app, Moment::Uploading).await?,
            _ => {}
        }
        for victim in &victims {
            if victim.kill().await? {
                world.ledger.count(|counts| counts.kills += 1);
            }
        }
        world.pause(Duration::from_millis(random.random_range(0..1000))).await;
        for victim in &victims {
            victim.start().await?;
        }
    }
    Ok(())
}

/// Moments that a kill would seldom hit by chance.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// A push is kept, and its client does not know yet.
    Committed,
    /// A pack is announced, on its way or stored, and does not count yet.
    Uploading,
}

async fn wait_for(app: &App, moment: Moment) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let mut every = tokio::time::interval(Duration::from_millis(1));
    let mut before = i64::MAX;
    for _ in 0..1000 {
        every.tick().await;
        let now = match moment {
            Moment::Committed => audit::moves(&mut connection).await?,
            Moment::Uploading => audit::uploads_under_way(&mut connection).await?,
        };
        if now > before {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

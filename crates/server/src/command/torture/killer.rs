use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_store::repository::audit;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::Notify;

use super::World;

/// When it strikes.
pub struct Habits {
    /// Milliseconds from one time to the next.
    pub pause: Range<u64>,
    /// As often as they are named.
    pub moments: Vec<Moment>,
}

/// Moments that a kill would seldom hit by chance.
#[derive(Clone, Debug)]
pub enum Moment {
    Any,
    /// A push is kept, and its client does not know yet.
    Committed,
    /// A pack is announced, on its way or stored, and does not count yet.
    Uploading,
    /// A hook has got its request, and the node does not know yet.
    Delivering(Arc<Notify>),
}

/// Kills nodes at any moment, now and then all of them, and starts them again with what is left of their caches.
pub async fn run(world: Arc<World>, app: Arc<App>, habits: Habits) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed ^ u64::MAX);
    while world.pause(Duration::from_millis(random.random_range(habits.pause.clone()))).await {
        let mut victims = world.nodes.clone();
        victims.shuffle(&mut random);
        victims.truncate(match random.random_range(0..10) {
            0..2 => world.nodes.len(),
            2..5 => 2,
            _ => 1,
        });
        if let Some(moment) = habits.moments.choose(&mut random) {
            // Only to strike at a good moment; the database may be away itself.
            wait_for(&app, moment).await.ok();
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

/// Not longer than about a second.
async fn wait_for(app: &App, moment: &Moment) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let mut every = tokio::time::interval(Duration::from_millis(1));
    let mut before = i64::MAX;
    for _ in 0..1000 {
        every.tick().await;
        let now = match moment {
            Moment::Any => return Ok(()),
            Moment::Committed => audit::moves(&mut connection).await?,
            Moment::Uploading => audit::uploads_under_way(&mut connection).await?,
            Moment::Delivering(request) => {
                tokio::time::timeout(Duration::from_secs(1), request.notified()).await.ok();
                return Ok(());
            }
        };
        if now > before {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

//! Kills nodes at random or at selected moments, and starts them again.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_store::repository::audit;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::Notify;

use super::Harness;

/// The schedule of kills.
pub struct KillSchedule {
    /// Range of milliseconds between two kills.
    pub interval_millis: Range<u64>,
    /// Kill points, from which one is chosen at random; repeated entries are more likely.
    pub points: Vec<KillPoint>,
}

/// Moments that a kill would rarely hit by chance.
#[derive(Clone, Debug)]
pub enum KillPoint {
    Any,
    /// A push has been committed, but its client has no response yet.
    Committed,
    /// The upload of a pack is recorded as pending, but the pack is not in a pack list yet.
    Uploading,
    /// The receiver has got a webhook request, but the node has no response yet.
    Delivering(Arc<Notify>),
}

/// Kills one, two or all nodes on a schedule, and starts them again with the caches that they left.
pub async fn run(harness: Arc<Harness>, app: Arc<App>, schedule: KillSchedule) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed ^ u64::MAX);
    while harness.pause(Duration::from_millis(random.random_range(schedule.interval_millis.clone()))).await {
        let mut targets = harness.nodes.clone();
        targets.shuffle(&mut random);
        targets.truncate(match random.random_range(0..10) {
            0..2 => harness.nodes.len(),
            2..5 => 2,
            _ => 1,
        });
        if let Some(point) = schedule.points.choose(&mut random) {
            // The kill point is best effort: the database may be unavailable itself.
            wait_for_point(&app, point).await.ok();
        }
        for target in &targets {
            if target.kill().await? {
                harness.history.count(|counts| counts.kills += 1);
            }
        }
        harness.pause(Duration::from_millis(random.random_range(0..1000))).await;
        for target in &targets {
            target.start().await?;
        }
    }
    Ok(())
}

/// Waits for a kill point, but not much longer than a second.
async fn wait_for_point(app: &App, point: &KillPoint) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let mut interval = tokio::time::interval(Duration::from_millis(1));
    let mut before = i64::MAX;
    for _ in 0..1000 {
        interval.tick().await;
        let now = match point {
            KillPoint::Any => return Ok(()),
            KillPoint::Committed => audit::count_ref_updates(&mut connection).await?,
            KillPoint::Uploading => audit::count_pending_uploads(&mut connection).await?,
            KillPoint::Delivering(request) => {
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

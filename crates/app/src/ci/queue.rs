//! Statistics of the build queue. [`super::job`] assigns the builds in it, and [`super::long_poll`] waits for new ones.

use std::time::Duration;

use holdfast_store::ci::queue::{self, BuildQueueOverview};

use crate::{App, Result};

/// Statistics of the build queue, for operators.
#[derive(Clone, Copy, Debug)]
pub struct BuildQueueStats {
    pub pending: i64,
    pub oldest_pending: Duration,
}

#[crate::boxed]
pub async fn stats(app: &App) -> Result<BuildQueueStats> {
    let overview = queue::overview(&mut *app.database.connection().await?).await?;
    let BuildQueueOverview { pending, oldest } = overview;
    let oldest_pending = oldest.and_then(|since| (app.clock.now() - since).to_std().ok()).unwrap_or_default();
    Ok(BuildQueueStats { pending, oldest_pending })
}

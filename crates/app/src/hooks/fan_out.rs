//! Copies events from the outbox into the queues of the subscribed hooks, in the background: a push does not wait for
//! it.

use holdfast_store::commit;
use holdfast_store::hooks::fan_out;

use crate::{App, Result};

/// Maximum number of events in one batch.
const EVENT_BATCH_SIZE: i64 = 500;
/// Maximum number of deliveries that one transaction inserts, unless a single event has more.
const MAX_DELIVERIES_PER_BATCH: i64 = 10_000;

/// Fans out one batch of events. Returns whether there were any, or `None` if another node holds the lock.
pub(super) async fn run_batch(app: &App) -> Result<Option<bool>> {
    let mut transaction = app.database.begin().await?;
    if !fan_out::try_lock(&mut transaction).await? {
        return Ok(None);
    }
    let mut pending = fan_out::next_batch(&mut transaction, EVENT_BATCH_SIZE).await?;
    if pending.is_empty() {
        return Ok(Some(false));
    }
    let mut sum = 0;
    let fitting = fan_out::count_hooks(&mut transaction, &pending).await?.into_iter().take_while(|count| {
        sum += count;
        sum <= MAX_DELIVERIES_PER_BATCH
    });
    let batch_len = fitting.count().max(1);
    pending.truncate(batch_len);
    let queued = fan_out::insert_deliveries(&mut transaction, &pending, app.clock.now()).await?;
    commit(transaction).await?;
    metrics::counter!("holdfast_hook_events_fanned_out_total").increment(pending.len() as u64);
    metrics::counter!("holdfast_hook_deliveries_queued_total").increment(queued);
    Ok(Some(true))
}

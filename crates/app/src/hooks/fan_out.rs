//! Handing what happened to those who listen. It happens after the fact: a push waits for nobody's hooks.

use holdfast_store::commit;
use holdfast_store::hooks::fan_out;

use crate::{App, Result};

/// So much is looked at together.
const EVENTS: i64 = 500;
/// So many deliveries are made in one transaction, unless one event makes more.
const DELIVERIES: i64 = 10_000;

/// One portion; whether there was any. None while another node is at it.
pub(super) async fn portion(app: &App) -> Result<Option<bool>> {
    let mut transaction = app.database.begin().await?;
    if !fan_out::lock(&mut transaction).await? {
        return Ok(None);
    }
    let mut waiting = fan_out::oldest(&mut transaction, EVENTS).await?;
    if waiting.is_empty() {
        return Ok(Some(false));
    }
    let mut sum = 0;
    let within = fan_out::count_hooks(&mut transaction, &waiting).await?.into_iter().take_while(|count| {
        sum += count;
        sum <= DELIVERIES
    });
    let within = within.count().max(1);
    waiting.truncate(within);
    let made = fan_out::hand_over(&mut transaction, &waiting, app.clock.now()).await?;
    commit(transaction).await?;
    metrics::counter!("holdfast_hook_events_handed_over_total").increment(waiting.len() as u64);
    metrics::counter!("holdfast_hook_deliveries_queued_total").increment(made);
    Ok(Some(true))
}

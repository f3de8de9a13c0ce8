//! Waits after the last kill until all events are delivered.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use holdfast_app::App;
use holdfast_store::repository::audit;

use super::HookScenario;
use super::check::relevant_rows;
use crate::report::log_line;

/// The wait ends if no delivery is accepted for this time. It is longer than the lease of a killed node, and than the
/// backoff after a few failures.
const STALL_TIMEOUT: Duration = Duration::from_secs(180);
/// Like [`STALL_TIMEOUT`], but for the case that no hook has pending deliveries. It is longer than the fan-out takes.
const FINAL_STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until all events are delivered. The receiver fails until half of the remaining events are delivered.
///
/// Also returns when nothing is delivered for some time; the check then reports what is missing.
pub async fn wait_for_deliveries(scenario: &HookScenario, app: &App) -> anyhow::Result<()> {
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    let mut half = None;
    let (mut accepted, mut since) = (0, Instant::now());
    let mut reported_at = Instant::now();
    loop {
        interval.tick().await;
        let (undelivered, pending) =
            match async { Ok((count_undelivered(scenario, app).await?, count_pending(scenario).await?)) }.await {
                // A connection that was terminated at the end of the faults fails on its next use.
                Err(error) if since.elapsed() > STALL_TIMEOUT => return Err(error),
                Err(_) => continue,
                Ok(remaining) => remaining,
            };
        if undelivered <= *half.get_or_insert(undelivered / 2) {
            scenario.receiver.stop_failing();
        }
        if undelivered + pending == 0 {
            return Ok(());
        }
        let count = scenario.receiver.seen(|seen| seen.accepted());
        if count > accepted {
            (accepted, since) = (count, Instant::now());
        }
        if reported_at.elapsed() >= Duration::from_secs(5) {
            reported_at = Instant::now();
            log_line(&format!(
                "{count} requests accepted, {undelivered} events pending, {pending} hooks with pending deliveries"
            ));
        }
        let timeout = if pending == 0 { FINAL_STALL_TIMEOUT } else { STALL_TIMEOUT };
        if since.elapsed() > timeout {
            log_line(&format!("nothing was delivered for {} seconds: the wait ends", timeout.as_secs()));
            return Ok(());
        }
    }
}

/// Returns the number of events in the ref log that hooks have not accepted yet.
async fn count_undelivered(scenario: &HookScenario, app: &App) -> anyhow::Result<usize> {
    let log = audit::list_log(&mut *app.database.connection().await?).await?;
    let delivered: Vec<usize> = scenario.receiver.seen(|seen| seen.delivered.iter().map(HashSet::len).collect());
    let hooks = scenario.receiver.hooks().iter().zip(delivered);
    Ok(hooks.map(|(hook, delivered)| relevant_rows(hook, &log).count().saturating_sub(delivered)).sum())
}

/// Returns the number of hooks with pending deliveries, according to the API.
async fn count_pending(scenario: &HookScenario) -> anyhow::Result<usize> {
    let mut count = 0;
    for hook in scenario.receiver.hooks() {
        let newest = scenario.harness.rest.newest_delivery(&scenario.harness.nodes[0], hook.project, hook.id).await;
        let newest = newest.with_context(|| format!("cannot list the deliveries of hook {}", hook.id))?;
        count += usize::from(newest.is_some_and(|it| it.state == "pending"));
    }
    Ok(count)
}

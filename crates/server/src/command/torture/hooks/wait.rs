//! After the last kill: until every hook has been told all.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use holdfast_app::App;
use holdfast_store::repository::audit;

use super::Scene;
use super::check::concerns;
use crate::command::torture::report::say;

/// As long as nothing is accepted at all: more than a dead node keeps a hook to itself, and than a receiver that
/// failed a few times is left alone.
const PATIENCE: Duration = Duration::from_secs(180);
/// The same where every hook is said to be at its end: more than it takes to hand over what happened.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(30);

/// The receiver fails until half of what is left is told.
///
/// Gives up, for the check to find out what is missing, when nothing comes any more.
pub async fn until_all_is_told(scene: &Scene, app: &App) -> anyhow::Result<()> {
    let mut every = tokio::time::interval(Duration::from_secs(1));
    let mut half = None;
    let (mut accepted, mut since) = (0, Instant::now());
    let mut said = Instant::now();
    loop {
        every.tick().await;
        let (untold, pending) = match async { Ok((untold(scene, app).await?, pending(scene).await?)) }.await {
            // A connection that was cut off last is noticed by the next who uses it.
            Err(error) if since.elapsed() > PATIENCE => return Err(error),
            Err(_) => continue,
            Ok(left) => left,
        };
        if untold <= *half.get_or_insert(untold / 2) {
            scene.receiver.calm_down();
        }
        if untold + pending == 0 {
            return Ok(());
        }
        let now = scene.receiver.seen(|seen| seen.accepted());
        if now > accepted {
            (accepted, since) = (now, Instant::now());
        }
        if said.elapsed() >= Duration::from_secs(5) {
            said = Instant::now();
            say(&format!("{now} requests accepted, {untold} events to come, {pending} hooks not at their end"));
        }
        let patience = if pending == 0 { PATIENCE_AT_THE_END } else { PATIENCE };
        if since.elapsed() > patience {
            say(&format!("nothing was delivered for {} seconds: nobody waits any longer", patience.as_secs()));
            return Ok(());
        }
    }
}

/// How many events that happened were not accepted yet.
async fn untold(scene: &Scene, app: &App) -> anyhow::Result<usize> {
    let log = audit::log(&mut *app.database.connection().await?).await?;
    let told: Vec<usize> = scene.receiver.seen(|seen| seen.told.iter().map(HashSet::len).collect());
    let hooks = scene.receiver.hooks().iter().zip(told);
    Ok(hooks.map(|(hook, told)| concerns(hook, &log).count().saturating_sub(told)).sum())
}

/// How many hooks have something before them, as the interface says.
async fn pending(scene: &Scene) -> anyhow::Result<usize> {
    let mut count = 0;
    for hook in scene.receiver.hooks() {
        let newest = scene.world.rest.newest_delivery(&scene.world.nodes[0], hook.project, hook.id).await;
        let newest = newest.with_context(|| format!("what hook {} was sent cannot be asked for", hook.id))?;
        count += usize::from(newest.is_some_and(|it| it.state == "pending"));
    }
    Ok(count)
}

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_store::repository::audit;

use super::World;
use crate::command::print;

/// What is said meanwhile goes to standard error.
pub fn say(text: &str) {
    std::io::stderr().lock().write_all(format!("{text}\n").as_bytes()).ok();
}

async fn compactions(app: &App) -> anyhow::Result<i64> {
    Ok(audit::compactions(&mut *app.database.connection().await?).await?)
}

pub async fn progress(world: Arc<World>, app: Arc<App>) -> anyhow::Result<()> {
    let mut seconds = 0;
    while world.pause(Duration::from_secs(5)).await {
        seconds += 5;
        let counts = world.ledger.counts();
        say(&format!(
            "{seconds:>4} s: {} pushes acknowledged, {} unknown, {} refused, {} reads, {} forks, {} kills, {} compactions, \
             {} violations",
            counts.acknowledged,
            counts.unknown,
            counts.refused,
            counts.reads,
            counts.forks,
            counts.kills,
            compactions(&app).await?,
            world.ledger.violations(),
        ));
    }
    Ok(())
}

pub async fn summary(world: &World, app: &App, took: Duration, repositories: usize) -> anyhow::Result<()> {
    let counts = world.ledger.counts();
    let uploads_cut_off = audit::uploads_under_way(&mut *app.database.connection().await?).await?.unsigned_abs();
    let lines = [
        ("seed", world.seed),
        ("seconds, with setting up and checking", took.as_secs()),
        ("nodes", world.nodes.len() as u64),
        ("pushes acknowledged", counts.acknowledged),
        ("ref changes acknowledged", counts.moved),
        ("pushes of unknown outcome", counts.unknown),
        ("ref changes made without the client's hearing of it", counts.silent),
        ("pushes refused as expected, in part or whole", counts.refused),
        ("reads", counts.reads),
        ("reads cut off by a kill", counts.broken_reads),
        ("reads outrun by a push that moved a ref back", counts.outrun_reads),
        ("forks", counts.forks),
        ("kills", counts.kills),
        ("uploads cut off by a kill", uploads_cut_off),
        ("compactions", compactions(app).await?.unsigned_abs()),
        ("repositories checked", repositories as u64),
        ("violations", world.ledger.violations() as u64),
    ];
    table(&lines)
}

pub fn table(lines: &[(&str, u64)]) -> anyhow::Result<()> {
    for (what, count) in lines {
        print(format!("{what:<52} {count}"))?;
    }
    Ok(())
}

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
            compactions(&app).await.unwrap_or_default(),
            world.ledger.violations(),
        ));
    }
    Ok(())
}

pub async fn summary(world: &World, app: &App, took: Duration, repositories: usize) -> anyhow::Result<()> {
    let uploads_cut_off = audit::uploads_under_way(&mut *app.database.connection().await?).await?.unsigned_abs();
    let mut lines = lines(world, took, repositories);
    lines.extend([
        ("uploads cut off by a kill", uploads_cut_off),
        ("compactions", compactions(app).await?.unsigned_abs()),
        ("violations", world.ledger.violations() as u64),
    ]);
    table(&lines)
}

/// What was done to the installation, and how often something failed by it.
pub fn fault_lines(world: &World) -> Vec<(&'static str, u64)> {
    let counts = world.ledger.counts();
    let mut lines: Vec<_> = world.faults.struck().into_iter().map(|(kind, count)| (kind.name(), count)).collect();
    lines.push(("answers that failed by a fault other than a kill", counts.excused));
    lines.extend(world.faults.excused().into_iter().map(|(kind, count)| (kind.name_of_excuse(), count)));
    lines.extend([
        ("projects deleted, as acknowledged", counts.deletions),
        ("projects renamed, as acknowledged", counts.renames),
        ("orders of operators: repack and sweep", counts.orders),
        ("orders that failed by a fault", counts.failed_orders),
        ("hidden commits asked for at every door", counts.hidden),
    ]);
    lines
}

pub fn lines(world: &World, took: Duration, repositories: usize) -> Vec<(&'static str, u64)> {
    let counts = world.ledger.counts();
    vec![
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
        ("repositories checked", repositories as u64),
    ]
}

pub fn table(lines: &[(&str, u64)]) -> anyhow::Result<()> {
    for (what, count) in lines {
        print(format!("{what:<52} {count}"))?;
    }
    Ok(())
}

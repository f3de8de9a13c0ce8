//! Progress lines and the final report of a stress test.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_store::repository::audit;

use super::Harness;

/// Prints a line of the report to standard output. A closed pipe is not an error.
pub fn print_line(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Writes a progress line to standard error.
pub fn log_line(text: &str) {
    std::io::stderr().lock().write_all(format!("{text}\n").as_bytes()).ok();
}

async fn count_compactions(app: &App) -> anyhow::Result<i64> {
    Ok(audit::count_repacks(&mut *app.database.connection().await?).await?)
}

pub async fn progress(harness: Arc<Harness>, app: Arc<App>) -> anyhow::Result<()> {
    let mut seconds = 0;
    while harness.pause(Duration::from_secs(5)).await {
        seconds += 5;
        let counts = harness.history.counts();
        log_line(&format!(
            "{seconds:>4} s: {} pushes acknowledged, {} unknown, {} rejected, {} reads, {} forks, {} kills, \
             {} repacks, {} violations",
            counts.acknowledged,
            counts.unknown,
            counts.rejected,
            counts.reads,
            counts.forks,
            counts.kills,
            count_compactions(&app).await.unwrap_or_default(),
            harness.history.violations(),
        ));
    }
    Ok(())
}

pub async fn summary(harness: &Harness, app: &App, elapsed: Duration, repositories: usize) -> anyhow::Result<()> {
    let uploads_cut_off = audit::count_pending_uploads(&mut *app.database.connection().await?).await?.unsigned_abs();
    let mut lines = lines(harness, elapsed, repositories);
    lines.extend([
        ("uploads cut off by a kill", uploads_cut_off),
        ("repacks", count_compactions(app).await?.unsigned_abs()),
        ("violations", harness.history.violations() as u64),
    ]);
    table(&lines)
}

/// Returns the report lines about injected faults and the failures that they explain.
pub fn fault_lines(harness: &Harness) -> Vec<(&'static str, u64)> {
    let counts = harness.history.counts();
    let mut lines: Vec<_> =
        harness.faults.injected_count().into_iter().map(|(kind, count)| (kind.label(), count)).collect();
    lines.push(("responses that failed because of another fault", counts.explained));
    lines.extend(harness.faults.explained_count().into_iter().map(|(kind, count)| (kind.effect_label(), count)));
    lines.extend([
        ("acknowledged project deletions", counts.deletions),
        ("acknowledged project renames", counts.renames),
        ("operator commands (repack and sweep)", counts.admin_commands),
        ("operator commands that failed because of a fault", counts.failed_admin_commands),
        ("unreachable commits requested at every endpoint", counts.unreachable_probed),
    ]);
    lines
}

pub fn lines(harness: &Harness, elapsed: Duration, repositories: usize) -> Vec<(&'static str, u64)> {
    let counts = harness.history.counts();
    vec![
        ("seed", harness.seed),
        ("seconds, including setup and checks", elapsed.as_secs()),
        ("nodes", harness.nodes.len() as u64),
        ("pushes acknowledged", counts.acknowledged),
        ("ref updates acknowledged", counts.updated_refs),
        ("pushes with unknown outcome", counts.unknown),
        ("ref updates applied without a response to the client", counts.unacknowledged_updates),
        ("pushes rejected as expected, partly or completely", counts.rejected),
        ("reads", counts.reads),
        ("reads cut off by a kill", counts.failed_reads),
        ("reads that failed because a push rewound a ref", counts.raced_reads),
        ("forks", counts.forks),
        ("kills", counts.kills),
        ("repositories checked", repositories as u64),
    ]
}

pub fn table(lines: &[(&str, u64)]) -> anyhow::Result<()> {
    for (label, count) in lines {
        print_line(&format!("{label:<52} {count}"))?;
    }
    Ok(())
}

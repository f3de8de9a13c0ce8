//! Checks the database and the repositories after the workload: all acknowledged data must exist and be consistent. The
//! comparison with the responses to clients is in [`super::consistency`].

use std::collections::HashSet;
use std::time::Duration;

use anyhow::bail;
use holdfast_app::{App, Entropy};
use holdfast_store::repository::audit;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::node::{Node, NodeOptions, Program};
use super::report::log_line;
use super::{Harness, consistency, mirror};

/// Checks the database, and clones every repository from a new node. Returns the number of repositories.
pub async fn check(harness: &Harness, app: &App, program: &Program) -> anyhow::Result<usize> {
    let mut random = StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes()));
    // The new node runs no background jobs, so that nothing changes during the check.
    let load = NodeOptions { workers: 0, cache_bytes: 1 << 30, disk: None, is_fault_free: true, seed: 0 };
    let fresh = Node::new(program, "node-fresh".into(), &load, &mut random)?;
    fresh.start().await?;
    check_rows(harness, app).await?;
    let repositories = audit::list_repositories(&mut *app.database.connection().await?).await?;
    let existing: HashSet<i64> = repositories.iter().map(|it| it.project.get()).collect();
    for project in harness.projects().iter().filter(|project| !existing.contains(&project.id)) {
        harness
            .history
            .report_violation(format!("seed {}: an acknowledged project is missing: {project:?}", harness.seed));
    }
    let deleted = harness.deleted().clone();
    for repository in repositories.iter().filter(|it| !deleted.contains(&it.project.get())) {
        mirror::check(harness, app, &fresh, repository).await?;
    }
    fresh.kill().await?;
    Ok(repositories.len())
}

/// Kills all nodes and waits until no transaction is open, so that nothing changes during the checks.
pub async fn stop_nodes(harness: &Harness, app: &App) -> anyhow::Result<()> {
    log_line("stopping all nodes and checking");
    for node in &harness.nodes {
        node.kill().await?;
    }
    wait_until_quiet(app).await
}

pub async fn check_rows(harness: &Harness, app: &App) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let deleted = harness.deleted().clone();
    let mut found = consistency::check(&harness.history, &audit::list_log(&mut connection).await?, &deleted);
    let ids: Vec<i64> = deleted.iter().copied().collect();
    let deleted_updates = harness.history.pushed_ids().into_iter().filter(|(project, ..)| deleted.contains(project));
    let deleted_updates: Vec<(String, String)> = deleted_updates.map(|(_, name, new)| (name, new)).collect();
    found.extend(audit::refs_inconsistent_with_log(&mut connection).await?);
    found.extend(audit::log_chain_breaks(&mut connection, &deleted_updates).await?);
    found.extend(audit::events_not_published_once(&mut connection, &ids).await?);
    found.extend(audit::inconsistent_packs(&mut connection).await?);
    for text in found {
        harness.history.report_violation(format!("seed {}: {text}", harness.seed));
    }
    Ok(())
}

/// Waits until no transaction is open: PostgreSQL still executes a commit that a node sent before it was killed.
async fn wait_until_quiet(app: &App) -> anyhow::Result<()> {
    let mut interval = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..600 {
        interval.tick().await;
        if !audit::has_open_transactions(&mut *app.database.connection().await?).await? {
            return Ok(());
        }
    }
    bail!("a transaction has been open for a minute: check whether another program uses the database")
}

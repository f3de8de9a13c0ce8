//! After the last kill: whether all that was acknowledged is there, and agrees with itself.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::bail;
use holdfast_app::{App, Entropy};
use holdfast_store::repository::audit;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::node::{Load, Node, Program};
use super::report::say;
use super::{World, mirror};

/// How many repositories were checked.
pub async fn check(world: &World, app: &App, program: &Program) -> anyhow::Result<usize> {
    let mut random = StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes()));
    // Nobody works for this one, so that nothing changes any more.
    let load = Load { workers: 0, cache_bytes: 1 << 30, disk: None, is_calm: true, seed: 0 };
    let fresh = Node::new(program, "node-fresh".into(), &load, &mut random)?;
    fresh.start().await?;
    check_rows(world, app).await?;
    let repositories = audit::repositories(&mut *app.database.connection().await?).await?;
    let there: HashSet<i64> = repositories.iter().map(|it| it.project.get()).collect();
    for project in world.projects().iter().filter(|project| !there.contains(&project.id)) {
        world
            .ledger
            .violate(format!("seed {}: the project was acknowledged, but is not there: {project:?}", world.seed));
    }
    let deleted = world.deleted().clone();
    for repository in repositories.iter().filter(|it| !deleted.contains(&it.project.get())) {
        mirror::check(world, app, &fresh, repository).await?;
    }
    fresh.kill().await?;
    Ok(repositories.len())
}

/// So that nothing changes any more.
pub async fn stop(world: &World, app: &App) -> anyhow::Result<()> {
    say("stopping all nodes and checking");
    for node in &world.nodes {
        node.kill().await?;
    }
    wait_until_quiet(app).await
}

pub async fn check_rows(world: &World, app: &App) -> anyhow::Result<()> {
    let mut connection = app.database.connection().await?;
    let deleted = world.deleted().clone();
    let mut found = world.ledger.contradictions(&audit::log(&mut connection).await?, &deleted);
    let ids: Vec<i64> = deleted.iter().copied().collect();
    let gone = world.ledger.tried().into_iter().filter(|(project, ..)| deleted.contains(project));
    let gone: Vec<(String, String)> = gone.map(|(_, name, new)| (name, new)).collect();
    found.extend(audit::unlike_the_log(&mut connection).await?);
    found.extend(audit::breaks_in_the_log(&mut connection, &gone).await?);
    found.extend(audit::not_told_once(&mut connection, &ids).await?);
    found.extend(audit::packs_astray(&mut connection).await?);
    for text in found {
        world.ledger.violate(format!("seed {}: {text}", world.seed));
    }
    Ok(())
}

/// A commit that a node sent before it was killed is still made.
async fn wait_until_quiet(app: &App) -> anyhow::Result<()> {
    let mut every = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..600 {
        every.tick().await;
        if !audit::is_busy(&mut *app.database.connection().await?).await? {
            return Ok(());
        }
    }
    bail!("somebody else's transaction in the database has been open for a minute: is it used by others, too?")
}

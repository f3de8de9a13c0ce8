//! What operators do by hand, at moments that nobody would choose.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::faults::Attempt;
use crate::command::torture::World;
use crate::command::torture::node::Program;

const PAUSES: std::ops::Range<u64> = 4000..10_000;
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn run(world: Arc<World>, program: Arc<Program>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(0x5eeb));
    let can_sweep = program.admin(&["sweep", "--help"]).output().await?.status.success();
    while world.pause(Duration::from_millis(random.random_range(PAUSES))).await {
        let project = {
            let projects = world.projects();
            projects.choose(&mut random).cloned()
        };
        let Some(project) = project else { continue };
        if can_sweep && random.random_bool(0.4) {
            order(&world, &program, &["sweep"], None).await?;
        } else {
            order(&world, &program, &["repo", "repack", &project.path], Some(project.id)).await?;
        }
    }
    Ok(())
}

async fn order(world: &World, program: &Program, arguments: &[&str], project: Option<i64>) -> anyhow::Result<()> {
    let since = Instant::now();
    let (success, said) = match tokio::time::timeout(PATIENCE, program.admin(arguments).output()).await {
        Ok(ended) => {
            let ended = ended?;
            (ended.status.success(), String::from_utf8_lossy(&ended.stderr).into_owned())
        }
        Err(_) => (false, "no answer within two minutes".to_owned()),
    };
    world.ledger.count(|counts| counts.orders += 1);
    if success {
        return Ok(());
    }
    // A node is at it, or was quicker.
    let is_outrun = ["there is no project", "Somebody else is at it", "changed by somebody else"];
    let is_outrun = is_outrun.iter().any(|text| said.contains(text));
    let attempt = Attempt { node: "operator", project, since };
    if !is_outrun && world.faults.excuse(attempt, &said).is_none() {
        world.ledger.violate(format!("seed {}: admin {arguments:?} failed: {}", world.seed, said.trim()));
    }
    world.ledger.count(|counts| counts.failed_orders += 1);
    Ok(())
}

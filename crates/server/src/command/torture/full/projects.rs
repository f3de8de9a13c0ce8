//! Projects that are renamed, and forks that are deleted, while others push to them.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::faults::{Kind, Victim};
use crate::command::torture::World;
use crate::command::torture::node::Node;
use crate::command::torture::rest::Project;

const PAUSES: std::ops::Range<u64> = 1500..4000;
/// So many forks there are at least, so that there are always some to push to.
const FEWEST_FORKS: usize = 1;

pub async fn run(world: Arc<World>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(0x4ea2));
    while world.pause(Duration::from_millis(random.random_range(PAUSES))).await {
        let (forks, movable): (Vec<Project>, Vec<Project>) = {
            let projects = world.projects();
            let forks = projects.iter().filter(|it| it.is_fork()).cloned().collect();
            (forks, projects.iter().skip(super::HOOKED).cloned().collect())
        };
        if forks.len() > FEWEST_FORKS && random.random_bool(0.5) {
            if let Some(fork) = forks.choose(&mut random) {
                delete(&world, &mut random, fork).await;
            }
        } else if let Some(project) = movable.choose(&mut random) {
            let path = format!("moved-{}", random.random::<u32>());
            rename(&world, &mut random, project, &path).await;
        }
    }
    Ok(())
}

fn node(world: &World, random: &mut StdRng) -> Option<Arc<Node>> {
    let up: Vec<&Arc<Node>> = world.nodes.iter().filter(|node| node.life().is_some()).collect();
    up.choose(random).map(|node| Arc::clone(node))
}

/// Whether it was deleted is not asked: from now on it may be gone at any moment, and nobody misses it.
async fn delete(world: &World, random: &mut StdRng, fork: &Project) {
    let Some(node) = node(world, random) else { return };
    // Whoever has begun something with it has a reason until the end.
    std::mem::forget(world.faults.strike(Kind::Deleted, Victim::Project(fork.id)));
    world.deleted().insert(fork.id);
    world.projects().retain(|it| it.id != fork.id);
    if world.rest.delete_project(&node, fork.id).await.is_ok() {
        world.ledger.count(|counts| counts.deletions += 1);
    }
}

/// Who comes by the old path is led on, so that nothing may fail by it except what is under way.
async fn rename(world: &World, random: &mut StdRng, project: &Project, path: &str) {
    let Some(first) = node(world, random) else { return };
    let _strike = world.faults.strike(Kind::Renamed, Victim::Project(project.id));
    let mut renamed = world.rest.rename(&first, project.id, path).await;
    if renamed.is_ok() {
        world.ledger.count(|counts| counts.renames += 1);
    }
    while renamed.is_err() && world.pause(Duration::from_millis(200)).await {
        if let Some(other) = node(world, random) {
            renamed = world.rest.project(&other, project.id).await;
        }
    }
    if let (Ok(renamed), Some(it)) = (renamed, world.projects().iter_mut().find(|it| it.id == project.id)) {
        it.path = renamed.path;
    }
}

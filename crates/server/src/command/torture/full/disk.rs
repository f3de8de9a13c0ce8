//! Faults of a node's disk: full, or emptied by somebody.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::faults::{Kind, Victim};
use crate::command::torture::World;

/// Milliseconds from one time to the next, and how long a disk stays full.
const FILLINGS: std::ops::Range<u64> = 10_000..20_000;
const FULL: std::ops::Range<u64> = 300..2000;
const REMOVALS: std::ops::Range<u64> = 5000..12_000;
/// No disk that is meant for this is larger.
const MOST_BYTES: usize = 2 << 30;

/// The disk that a node's cache is on.
pub async fn fill(world: Arc<World>, disk: PathBuf, node: String) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(0xd15c));
    let filler = disk.join("filler");
    while world.pause(Duration::from_millis(random.random_range(FILLINGS))).await {
        let _strike = world.faults.strike(Kind::FullDisk, Victim::Node(node.clone()));
        let file = filler.clone();
        tokio::task::spawn_blocking(move || write_until_full(&file)).await??;
        world.pause(Duration::from_millis(random.random_range(FULL))).await;
        tokio::fs::remove_file(&filler).await?;
    }
    Ok(())
}

fn write_until_full(file: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::create(file)?;
    let mut size = 1 << 20;
    let mut written = 0;
    // To the last byte.
    while size > 0 && written < MOST_BYTES {
        match file.write(&vec![0; size]) {
            Ok(count @ 1..) => written += count,
            Ok(0) | Err(_) => size /= 2,
        }
    }
    Ok(())
}

/// The copies of a node that runs may be removed at any time.
pub async fn remove_caches(world: Arc<World>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(0xcac4e));
    while world.pause(Duration::from_millis(random.random_range(REMOVALS))).await {
        let Some(node) = world.nodes.choose(&mut random) else { continue };
        let _strike = world.faults.strike(Kind::RemovedCache, Victim::Node(node.name.clone()));
        // Somebody is writing there meanwhile, so that not all of it may go at once.
        for slot in std::fs::read_dir(&node.cache).into_iter().flatten().flatten() {
            tokio::fs::remove_dir_all(slot.path()).await.ok();
        }
    }
    Ok(())
}

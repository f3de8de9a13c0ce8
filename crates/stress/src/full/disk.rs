//! Disk faults of a node: a full disk, and deleted caches.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::Harness;
use crate::faults::{FaultKind, FaultTarget};

/// Range of milliseconds between two fills of the disk.
const FILL_INTERVAL_MILLIS: std::ops::Range<u64> = 10_000..20_000;
/// Range of milliseconds for which a disk stays full.
const FULL_MILLIS: std::ops::Range<u64> = 300..2000;
const REMOVAL_INTERVAL_MILLIS: std::ops::Range<u64> = 5000..12_000;
/// Limit for the case that `--small-disk` is not on a small file system.
const MAX_FILL_BYTES: usize = 2 << 30;

/// Fills the disk of a node's cache from time to time.
pub async fn fill(harness: Arc<Harness>, disk: PathBuf, node: String) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(0xd15c));
    let filler = disk.join("filler");
    while harness.pause(Duration::from_millis(random.random_range(FILL_INTERVAL_MILLIS))).await {
        let _fault = harness.faults.inject(FaultKind::FullDisk, FaultTarget::Node(node.clone()));
        let file = filler.clone();
        tokio::task::spawn_blocking(move || write_until_full(&file)).await??;
        harness.pause(Duration::from_millis(random.random_range(FULL_MILLIS))).await;
        tokio::fs::remove_file(&filler).await?;
    }
    Ok(())
}

fn write_until_full(file: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::create(file)?;
    let mut size = 1 << 20;
    let mut written = 0;
    // Smaller and smaller writes fill the disk to the last byte.
    while size > 0 && written < MAX_FILL_BYTES {
        match file.write(&vec![0; size]) {
            Ok(count @ 1..) => written += count,
            Ok(0) | Err(_) => size /= 2,
        }
    }
    Ok(())
}

/// Deletes the cache of a running node from time to time, which nodes must survive at any moment.
pub async fn remove_caches(harness: Arc<Harness>) -> anyhow::Result<()> {
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(0xcac4e));
    while harness.pause(Duration::from_millis(random.random_range(REMOVAL_INTERVAL_MILLIS))).await {
        let Some(node) = harness.nodes.choose(&mut random) else { continue };
        let _fault = harness.faults.inject(FaultKind::RemovedCache, FaultTarget::Node(node.name.clone()));
        // Errors are ignored: the node writes concurrently, so a directory may not be empty when it is removed.
        for slot in std::fs::read_dir(&node.cache).into_iter().flatten().flatten() {
            tokio::fs::remove_dir_all(slot.path()).await.ok();
        }
    }
    Ok(())
}

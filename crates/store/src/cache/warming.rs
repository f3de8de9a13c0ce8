//! Warms the cache: synchronizes cached repositories before they are requested, without recording a use.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::pack_file::PackFile;

use super::{Cache, Entry, Result};
use crate::repository::pack::Pack;
use crate::{Database, Objects};

/// Minimum interval between two writes of the last use of a repository to disk. Limits how exact the order of eviction
/// is after a restart.
const PERSIST_USE_INTERVAL_MS: u64 = 60_000;

impl Cache {
    /// Lists the cached repositories, the most recently used first.
    pub fn recently_used(&self) -> Vec<RepositoryId> {
        self.by_last_use().into_iter().rev().map(|(_, id)| id).collect()
    }

    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Returns whether the cache stays within `at_most` bytes after the missing packs are downloaded.
    pub fn has_room(&self, packs: &[Pack], at_most: u64) -> bool {
        let missing = packs.iter().filter(|pack| !self.slot.pack_path(pack, PackFile::Pack).exists()).map(Pack::bytes);
        self.bytes() + missing.sum::<u64>() <= at_most
    }

    /// Synchronizes a cached repository like [`Cache::acquire`], but does not record a use and does not evict.
    pub async fn warm(&self, database: &Database, objects: &Objects, id: RepositoryId) -> Result<()> {
        self.ensure_current(database, objects, id, i64::MAX).await.map(drop)
    }

    pub(super) fn record_use(&self, id: RepositoryId, entry: &Entry) {
        let now = self.started_at.elapsed().as_millis() as u64;
        entry.last_used.store(now, Ordering::Relaxed);
        let persisted = entry.last_use_persisted.load(Ordering::Relaxed);
        if persisted != 0 && now < persisted + PERSIST_USE_INTERVAL_MS {
            return;
        }
        entry.last_use_persisted.store(now.max(1), Ordering::Relaxed);
        // The modification time of `HEAD` tells the next process when the repository was used. Errors are ignored: they
        // only affect the order of eviction.
        let file = std::fs::File::options().write(true).open(self.slot.repository_path(id).join("HEAD"));
        #[expect(clippy::disallowed_methods, reason = "it orders files of this machine, as the system's own times do")]
        let now = SystemTime::now();
        file.and_then(|file| file.set_modified(now)).ok();
    }
}

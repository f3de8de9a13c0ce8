//! Warms the cache: synchronizes cached repositories before they are requested, without recording a use.

use holdfast_domain::ids::RepositoryId;
use holdfast_git::pack_file::PackFile;

use super::{Cache, Result};
use crate::repository::pack::Pack;
use crate::{Database, Objects};

impl Cache {
    /// Lists the cached repositories, the most recently used first.
    pub fn recently_used(&self) -> Vec<RepositoryId> {
        self.by_last_use().into_iter().rev().map(|(_, id)| id).collect()
    }

    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
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
}

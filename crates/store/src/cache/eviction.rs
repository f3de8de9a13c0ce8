//! Records when cached repositories are used, and evicts the least recently used first.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use holdfast_domain::ids::RepositoryId;

use super::{Cache, Entry};

/// Minimum interval between two writes of the last use of a repository to disk. Limits how exact the order of eviction
/// is after a restart.
const PERSIST_USE_INTERVAL_MS: u64 = 60_000;

impl Cache {
    /// Records that a repository is used now.
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

    /// Evicts unused repositories until the cache is within its maximum size, or only pinned repositories are left.
    pub(super) fn evict(&self) {
        self.evict_down_to(self.max_bytes);
    }

    pub(super) fn evict_down_to(&self, bytes: u64) {
        if self.bytes() <= bytes {
            return;
        }
        for (_, id) in self.by_last_use() {
            if self.bytes() <= bytes {
                return;
            }
            if let Err(error) = self.evict_one(id) {
                tracing::warn!(%error, repository = id.get(), "evicting cached repository failed");
            }
        }
        // Repositories or packs may have been deleted from outside and are still counted.
        if self.bytes() > bytes
            && let Err(error) = self.remove_unlinked().and_then(|()| self.recount_used_bytes())
        {
            tracing::warn!(%error, "recounting cached packs failed");
        }
    }

    /// Returns the cached repositories with the time of their last use, the least recently used first.
    pub(super) fn by_last_use(&self) -> Vec<(u64, RepositoryId)> {
        let repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries: Vec<(u64, RepositoryId)> =
            repositories.iter().map(|(id, entry)| (entry.last_used.load(Ordering::Relaxed), *id)).collect();
        entries.sort_unstable();
        entries
    }

    fn evict_one(&self, id: RepositoryId) -> std::io::Result<()> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = repositories.get(&id).cloned() else { return Ok(()) };
        let (Ok(_unused), Ok(mut generation)) = (entry.pins.try_write(), entry.generation.try_lock()) else {
            return Ok(());
        };
        *generation = None;
        repositories.remove(&id);
        // The rename is atomic: after a crash, no half-deleted directory is taken for a cached repository.
        let evicted_path = self.slot.incoming_dir().join(format!("evicted-{id}"));
        std::fs::create_dir_all(self.slot.incoming_dir())?;
        none_if_missing(std::fs::remove_dir_all(&evicted_path))?;
        // An entry without a directory belongs to a repository that was not created yet.
        if none_if_missing(std::fs::rename(self.slot.repository_path(id), &evicted_path))?.is_none() {
            return Ok(());
        }
        let mut linked = Vec::new();
        for file in none_if_missing(std::fs::read_dir(evicted_path.join("objects/pack")))?.into_iter().flatten() {
            linked.push(file?.file_name());
        }
        none_if_missing(std::fs::remove_dir_all(evicted_path))?;
        drop(repositories);
        linked.iter().try_for_each(|name| self.remove_if_unlinked(&self.slot.packs_dir().join(name)))
    }

    /// Deletes packs that are not linked into any cached repository.
    fn remove_unlinked(&self) -> std::io::Result<()> {
        for file in std::fs::read_dir(self.slot.packs_dir())? {
            self.remove_if_unlinked(&file?.path())?;
        }
        Ok(())
    }

    fn recount_used_bytes(&self) -> std::io::Result<()> {
        self.used_bytes.store(self.slot.bytes()?, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn remove_if_unlinked(&self, file: &Path) -> std::io::Result<()> {
        // A concurrent eviction may have deleted the file.
        let Some(metadata) = none_if_missing(std::fs::metadata(file))? else { return Ok(()) };
        if metadata.nlink() == 1 && none_if_missing(std::fs::remove_file(file))?.is_some() {
            self.used_bytes.fetch_sub(metadata.len().min(self.bytes()), Ordering::Relaxed);
        }
        Ok(())
    }
}

pub(super) fn none_if_missing<T>(outcome: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

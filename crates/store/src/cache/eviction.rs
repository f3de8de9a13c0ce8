//! Making room: the copies that were not used for longest go first.

use std::os::unix::fs::MetadataExt;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use holdfast_domain::ids::RepositoryId;

use super::Cache;

impl Cache {
    /// Until what is left fits, or all that is left is in use.
    pub(super) fn evict(&self) {
        if self.bytes() <= self.budget {
            return;
        }
        let mut by_age: Vec<(u64, RepositoryId)> = {
            let repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
            repositories.iter().map(|(id, entry)| (entry.last_used.load(Ordering::Relaxed), *id)).collect()
        };
        by_age.sort_unstable();
        for (_, id) in by_age {
            if self.bytes() <= self.budget {
                return;
            }
            if let Err(error) = self.evict_one(id) {
                tracing::warn!(%error, repository = id.get(), "cannot evict a copy");
            }
        }
    }

    fn evict_one(&self, id: RepositoryId) -> std::io::Result<()> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = repositories.get(&id).cloned() else { return Ok(()) };
        let (Ok(_unused), Ok(mut generation)) = (entry.uses.try_write(), entry.generation.try_lock()) else {
            return Ok(());
        };
        *generation = -1;
        repositories.remove(&id);
        // Somebody may have been about to make it.
        unless_missing(std::fs::remove_dir_all(self.slot.repository(id)))?;
        drop(repositories);
        self.remove_unlinked()
    }

    /// Packs that no repository has any more.
    fn remove_unlinked(&self) -> std::io::Result<()> {
        for file in std::fs::read_dir(self.slot.packs())? {
            let file = file?;
            // Another may be making room, too.
            let Some(about) = unless_missing(file.metadata())? else { continue };
            if about.nlink() == 1 && unless_missing(std::fs::remove_file(file.path()))?.is_some() {
                self.used.fetch_sub(about.len().min(self.bytes()), Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

fn unless_missing<T>(outcome: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

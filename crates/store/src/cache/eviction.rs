//! Making room: the copies that were not used for longest go first.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use holdfast_domain::ids::RepositoryId;

use super::Cache;

impl Cache {
    /// Until what is left fits, or all that is left is in use.
    pub(super) fn evict(&self) {
        self.evict_down_to(self.budget);
    }

    pub(super) fn evict_down_to(&self, bytes: u64) {
        if self.bytes() <= bytes {
            return;
        }
        for (_, id) in self.by_age() {
            if self.bytes() <= bytes {
                return;
            }
            if let Err(error) = self.evict_one(id) {
                tracing::warn!(%error, repository = id.get(), "cannot evict a copy");
            }
        }
        // Somebody may have deleted copies, or packs, which are still counted.
        if self.bytes() > bytes
            && let Err(error) = self.remove_unlinked().and_then(|()| self.count())
        {
            tracing::warn!(%error, "cannot look through the packs");
        }
    }

    /// The copies that are known, with when they were used; that of longest ago first.
    pub(super) fn by_age(&self) -> Vec<(u64, RepositoryId)> {
        let repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_age: Vec<(u64, RepositoryId)> =
            repositories.iter().map(|(id, entry)| (entry.last_used.load(Ordering::Relaxed), *id)).collect();
        by_age.sort_unstable();
        by_age
    }

    fn evict_one(&self, id: RepositoryId) -> std::io::Result<()> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = repositories.get(&id).cloned() else { return Ok(()) };
        let (Ok(_unused), Ok(mut generation)) = (entry.uses.try_write(), entry.generation.try_lock()) else {
            return Ok(());
        };
        *generation = -1;
        repositories.remove(&id);
        // In one step: who comes after a crash must not take for a copy what is half removed.
        let away = self.slot.incoming().join(format!("evicted-{id}"));
        std::fs::create_dir_all(self.slot.incoming())?;
        unless_missing(std::fs::remove_dir_all(&away))?;
        // Somebody may have been about to make it.
        if unless_missing(std::fs::rename(self.slot.repository(id), &away))?.is_none() {
            return Ok(());
        }
        let mut linked = Vec::new();
        for file in unless_missing(std::fs::read_dir(away.join("objects/pack")))?.into_iter().flatten() {
            linked.push(file?.file_name());
        }
        unless_missing(std::fs::remove_dir_all(away))?;
        drop(repositories);
        linked.iter().try_for_each(|name| self.remove_if_unlinked(&self.slot.packs().join(name)))
    }

    /// Packs that no repository has any more.
    fn remove_unlinked(&self) -> std::io::Result<()> {
        for file in std::fs::read_dir(self.slot.packs())? {
            self.remove_if_unlinked(&file?.path())?;
        }
        Ok(())
    }

    fn count(&self) -> std::io::Result<()> {
        self.used.store(self.slot.bytes()?, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn remove_if_unlinked(&self, file: &Path) -> std::io::Result<()> {
        // Another may be making room, too.
        let Some(about) = unless_missing(std::fs::metadata(file))? else { return Ok(()) };
        if about.nlink() == 1 && unless_missing(std::fs::remove_file(file))?.is_some() {
            self.used.fetch_sub(about.len().min(self.bytes()), Ordering::Relaxed);
        }
        Ok(())
    }
}

pub(super) fn unless_missing<T>(outcome: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

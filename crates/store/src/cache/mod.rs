//! The repository cache of this node: bare repositories that are built from packs.
//!
//! - The cache holds nothing that is not stored elsewhere. It may be deleted at any time, and unused repositories are
//!   evicted when the cache exceeds its maximum size.
//! - A pack is stored once, in `packs/`, and hard-linked into each cached repository that lists it. Forks share packs,
//!   and a cached repository never contains an object outside of its pack list.

mod dir_stamp;
mod download;
mod eviction;
mod links;
mod slot;
mod warming;

pub use links::pack_file_stem;
pub use slot::{ensure_own, find_other_owner, find_unwritable, total_bytes};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_git::index_pack::IndexedPack;
use holdfast_git::{BareRepository, Quarantine, add_path};
use links::{is_fully_linked, link_commit_graph};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::repository::pack::{self, Pack};
use crate::{Database, Objects};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Database(#[from] crate::Error),
    #[error(transparent)]
    ObjectStore(#[from] crate::objects::Error),
    #[error(transparent)]
    Git(#[from] holdfast_git::Error),
    #[error("repository cache error: {0}")]
    Io(#[from] std::io::Error),
    #[error("pack {0} is listed but missing in storage")]
    Missing(PackId),
    #[error("repository not found")]
    NoRepository,
}

impl Error {
    /// Returns whether a second try can succeed: a pack was replaced after the pack list was read, or files of the
    /// cache were deleted from outside.
    fn is_transient(&self) -> bool {
        match self {
            Self::Missing(_) => true,
            Self::Io(error) | Self::Git(holdfast_git::Error::Io(error)) => error.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

pub struct Cache {
    slot: slot::Slot,
    max_bytes: u64,
    used_bytes: AtomicU64,
    hit_counters: HitCounters,
    repositories: Mutex<HashMap<RepositoryId, Arc<Entry>>>,
    downloads: Mutex<HashMap<PackId, Arc<tokio::sync::Mutex<()>>>>,
    started_at: Instant,
}

#[derive(Default)]
struct HitCounters {
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Counts of requests for cached repositories since the start of the process.
#[derive(Clone, Copy, Debug)]
pub struct HitCounts {
    pub hits: u64,
    pub misses: u64,
}

/// The state of one cached repository.
struct Entry {
    /// The generation of the pack list that the cached repository matches, or None if unknown. Locked while it is
    /// synchronized.
    generation: tokio::sync::Mutex<Option<i64>>,
    /// Locked for reading while the repository is in use. Eviction needs the write lock.
    pins: Arc<RwLock<()>>,
    last_used: AtomicU64,
    /// When `last_used` was last written to disk; 0 if never.
    last_use_persisted: AtomicU64,
}

/// A repository that matches its pack list.
struct SynchronizedRepository {
    bare: BareRepository,
    /// The generation of the pack list.
    generation: i64,
    /// The number of packs that had to be downloaded.
    missing_packs: usize,
}

/// A cached repository that is not evicted while this value exists.
pub struct CachedRepository {
    pub bare: BareRepository,
    /// The generation of its pack list.
    pub generation: i64,
    /// Whether packs had to be downloaded: a cache miss.
    pub had_missing_packs: bool,
    entry: Arc<Entry>,
    _pin: OwnedRwLockReadGuard<()>,
}

impl Cache {
    /// Opens a cache of about `max_bytes` bytes, in a slot below `directory` that no other process uses.
    pub fn open(directory: &Path, max_bytes: u64) -> std::io::Result<Self> {
        let slot = slot::Slot::acquire(directory)?;
        let used_bytes = AtomicU64::new(slot.bytes()?);
        let cache = Self {
            slot,
            max_bytes,
            used_bytes,
            hit_counters: HitCounters::default(),
            repositories: Mutex::default(),
            downloads: Mutex::default(),
            started_at: Instant::now(),
        };
        for (age, id) in cache.slot.repositories()?.into_iter().enumerate() {
            cache.entry(id).last_used.store(age as u64, Ordering::Relaxed);
        }
        Ok(cache)
    }

    /// Creates a quarantine: a temporary bare repository for packs that are received or written.
    pub fn quarantine(&self, alternate: Option<&BareRepository>) -> Result<Quarantine> {
        let incoming = self.slot.incoming_dir();
        std::fs::create_dir_all(&incoming).map_err(add_path(&incoming))?;
        Ok(Quarantine::new(&incoming, alternate)?)
    }

    /// Returns the directory for temporary files. It is emptied when a process acquires the slot.
    pub fn scratch_dir(&self) -> PathBuf {
        self.slot.incoming_dir()
    }

    fn entry(&self, id: RepositoryId) -> Arc<Entry> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = repositories.entry(id).or_insert_with(|| {
            Arc::new(Entry {
                generation: tokio::sync::Mutex::default(),
                pins: Arc::default(),
                last_used: AtomicU64::new(0),
                last_use_persisted: AtomicU64::new(0),
            })
        });
        entry.clone()
    }

    /// Pins a cached repository, so that it is not evicted. Starts over if the entry was evicted while this waited for
    /// the lock.
    async fn pin(&self, id: RepositoryId) -> (Arc<Entry>, OwnedRwLockReadGuard<()>) {
        loop {
            let entry = self.entry(id);
            let pin = entry.pins.clone().read_owned().await;
            if Arc::ptr_eq(&entry, &self.entry(id)) {
                return (entry, pin);
            }
        }
    }

    /// Returns the cached repository with the packs of `generation` or later. Concurrent requests for the same
    /// repository wait while one of them synchronizes it.
    pub async fn acquire(
        &self,
        database: &Database,
        objects: &Objects,
        id: RepositoryId,
        generation: i64,
    ) -> Result<CachedRepository> {
        let cached = self.ensure_current(database, objects, id, generation).await?;
        self.record_use(id, &cached.entry);
        self.evict();
        Ok(cached)
    }

    async fn ensure_current(
        &self,
        database: &Database,
        objects: &Objects,
        id: RepositoryId,
        generation: i64,
    ) -> Result<CachedRepository> {
        let (entry, pin) = self.pin(id).await;
        let mut current_generation = entry.generation.lock().await;
        let verified = BareRepository::open_if_complete(self.slot.repository_path(id)).filter(dir_stamp::is_unmodified);
        let synchronized = match (verified, *current_generation) {
            (Some(bare), Some(current)) if current >= generation => {
                SynchronizedRepository { bare, generation: current, missing_packs: 0 }
            }
            _ => {
                // The generation is unknown until the synchronization succeeds, also if this future is dropped before.
                *current_generation = None;
                let synchronize = || Box::pin(self.synchronize(database, objects, id));
                let synchronized = match synchronize().await {
                    Err(error) if error.is_transient() => synchronize().await?,
                    outcome => outcome?,
                };
                *current_generation = Some(synchronized.generation);
                synchronized
            }
        };
        drop(current_generation);
        let SynchronizedRepository { bare, generation, missing_packs } = synchronized;
        let had_missing_packs = missing_packs > 0;
        let counter = if had_missing_packs { &self.hit_counters.misses } else { &self.hit_counters.hits };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(CachedRepository { bare, generation, had_missing_packs, entry, _pin: pin })
    }

    /// Makes the cached repository match the pack list.
    async fn synchronize(
        &self,
        database: &Database,
        objects: &Objects,
        id: RepositoryId,
    ) -> Result<SynchronizedRepository> {
        let bare = BareRepository::create_or_open(self.slot.repository_path(id))?;
        let listed = pack::list(&mut *database.connection().await?, id).await?;
        let (generation, packs) = listed.ok_or(Error::NoRepository)?;
        let missing_packs = self.download_missing(database, objects, &bare, &packs).await?;
        // The commit-graph is replaced before packs are removed: it must not name a commit that is missing.
        link_commit_graph(&bare, &packs)?;
        self.remove_unlisted(&bare, &packs)?;
        dir_stamp::mark_verified(&bare)?;
        match packs.iter().find(|pack| !is_fully_linked(&bare, pack)) {
            Some(pack) => Err(Error::Missing(pack.id)),
            None => Ok(SynchronizedRepository { bare, generation, missing_packs }),
        }
    }

    /// Adds a pack that this node has just committed, and advances to the repository's new generation if no other
    /// change lies between.
    pub async fn add_committed_pack(
        &self,
        cached: &CachedRepository,
        generation: i64,
        new: Option<(Pack, &IndexedPack)>,
    ) -> Result<()> {
        let mut current_generation = cached.entry.generation.lock().await;
        // The pack list was read after the commit, and may not contain the pack anymore.
        if current_generation.is_some_and(|current| current >= generation) {
            return Ok(());
        }
        if let Some((pack, files)) = new {
            self.install_pack(&cached.bare, &pack, files)?;
        }
        // Another node may have changed the pack list in between.
        if *current_generation == Some(generation - 1) {
            *current_generation = Some(generation);
        }
        Ok(())
    }

    /// Adds a pack without changing the generation, so that the next synchronization need not download it.
    pub async fn add_pack(&self, cached: &CachedRepository, pack: &Pack, files: &IndexedPack) -> Result<()> {
        let _guard = cached.entry.generation.lock().await;
        self.install_pack(&cached.bare, pack, files)
    }

    /// Marks all cached repositories as outdated, so that the next request reads their pack list.
    pub async fn invalidate_all(&self) {
        let entries: Vec<_> =
            self.repositories.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for entry in entries {
            *entry.generation.lock().await = None;
        }
    }

    /// Returns the free bytes of the file system that holds the cache.
    pub fn free_disk_bytes(&self) -> std::io::Result<u64> {
        let disk = rustix::fs::statvfs(self.slot.directory())?;
        Ok(disk.f_bavail * disk.f_frsize)
    }

    pub fn hit_counts(&self) -> HitCounts {
        let HitCounters { hits, misses } = &self.hit_counters;
        HitCounts { hits: hits.load(Ordering::Relaxed), misses: misses.load(Ordering::Relaxed) }
    }

    pub fn bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub fn directory(&self) -> PathBuf {
        self.slot.directory()
    }
}

//! This node's copies: ordinary bare repositories made of packs, and nothing that is not also elsewhere. They may be
//! deleted at any time, and are when the disk they may use is full.
//!
//! A pack is kept once, in `packs/`, and linked into each repository that lists it: forks share what they share, and a
//! repository's own directory never holds an object that is not on its list.

mod download;
mod eviction;
mod slot;
mod touch;
mod warming;

pub use slot::bytes_below;

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_git::index_pack::{IndexedPack, PARTS};
use holdfast_git::{Bare, Incoming};
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
    #[error("the disk cache cannot be used: {0}")]
    Io(#[from] std::io::Error),
    #[error("pack {0} is listed but its bytes are missing")]
    Missing(PackId),
    #[error("there is no such repository")]
    NoRepository,
}

impl Error {
    /// What is gone was on the list when that was read, and may have been replaced since; or somebody deletes copies.
    fn is_passing(&self) -> bool {
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
    budget: u64,
    used: AtomicU64,
    uses: Uses,
    repositories: Mutex<HashMap<RepositoryId, Arc<Entry>>>,
    downloads: Mutex<HashMap<PackId, Arc<tokio::sync::Mutex<()>>>>,
    started: Instant,
}

/// How often a copy was asked for.
#[derive(Default)]
struct Uses {
    here: AtomicU64,
    fetched: AtomicU64,
}

/// What is known of one repository's copy.
struct Entry {
    /// The generation of the list that its packs are those of. Held by whoever brings it up to date.
    generation: tokio::sync::Mutex<i64>,
    /// Held for reading while it is used; only what nobody uses is evicted.
    uses: Arc<RwLock<()>>,
    last_used: AtomicU64,
    /// When that was last written to the disk; 0 is never.
    noted: AtomicU64,
}

/// A copy that stays while this lives.
pub struct Lease {
    pub bare: Bare,
    /// That of its packs.
    pub generation: i64,
    /// Some of them, until now.
    pub was_missing: bool,
    entry: Arc<Entry>,
    _use: OwnedRwLockReadGuard<()>,
}

impl Cache {
    /// Below `directory`, in a place that no other process uses, with at most about `budget` bytes.
    pub fn open(directory: &Path, budget: u64) -> std::io::Result<Self> {
        let slot = slot::Slot::take(directory)?;
        let used = AtomicU64::new(slot.bytes()?);
        let cache = Self {
            slot,
            budget,
            used,
            uses: Uses::default(),
            repositories: Mutex::default(),
            downloads: Mutex::default(),
            started: Instant::now(),
        };
        for (age, id) in cache.slot.repositories()?.into_iter().enumerate() {
            cache.entry(id).last_used.store(age as u64, Ordering::Relaxed);
        }
        Ok(cache)
    }

    /// Where packs arrive.
    pub fn incoming(&self, borrows: Option<&Bare>) -> Result<Incoming> {
        std::fs::create_dir_all(self.slot.incoming())?;
        Ok(Incoming::new(&self.slot.incoming(), borrows)?)
    }

    /// For files that last no longer than the process.
    pub fn scratch(&self) -> PathBuf {
        self.slot.incoming()
    }

    fn entry(&self, id: RepositoryId) -> Arc<Entry> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = repositories.entry(id).or_insert_with(|| {
            Arc::new(Entry {
                generation: tokio::sync::Mutex::new(-1),
                uses: Arc::default(),
                last_used: AtomicU64::new(0),
                noted: AtomicU64::new(0),
            })
        });
        entry.clone()
    }

    /// Keeps it from being evicted; one that was evicted while we waited is not the one to hold.
    async fn hold(&self, id: RepositoryId) -> (Arc<Entry>, OwnedRwLockReadGuard<()>) {
        loop {
            let entry = self.entry(id);
            let used = entry.uses.clone().read_owned().await;
            if Arc::ptr_eq(&entry, &self.entry(id)) {
                return (entry, used);
            }
        }
    }

    /// The copy with at least the packs that the list had at `generation`. Who comes while another brings it up to date
    /// waits for that one.
    pub async fn lease(
        &self,
        database: &Database,
        objects: &Objects,
        id: RepositoryId,
        generation: i64,
    ) -> Result<Lease> {
        let lease = self.current(database, objects, id, generation).await?;
        self.touch(id, &lease.entry);
        self.evict();
        Ok(lease)
    }

    async fn current(
        &self,
        database: &Database,
        objects: &Objects,
        id: RepositoryId,
        generation: i64,
    ) -> Result<Lease> {
        let (entry, used) = self.hold(id).await;
        let mut known = entry.generation.lock().await;
        let untouched = Bare::find(self.slot.repository(id)).filter(touch::is_untouched);
        let (bare, was_missing) = match untouched {
            Some(bare) if *known >= generation => (bare, false),
            _ => {
                // Until it is known again, also where somebody gives up on the way.
                *known = -1;
                let refresh = || Box::pin(self.refresh(database, objects, id));
                let (bare, listed, missing) = match refresh().await {
                    Err(error) if error.is_passing() => refresh().await?,
                    refreshed => refreshed?,
                };
                *known = listed;
                (bare, missing > 0)
            }
        };
        let uses = if was_missing { &self.uses.fetched } else { &self.uses.here };
        uses.fetch_add(1, Ordering::Relaxed);
        let generation = *known;
        drop(known);
        Ok(Lease { bare, generation, was_missing, entry, _use: used })
    }

    /// The copy, the generation, and how many packs were missing.
    async fn refresh(&self, database: &Database, objects: &Objects, id: RepositoryId) -> Result<(Bare, i64, usize)> {
        let bare = Bare::at(self.slot.repository(id))?;
        let listed = pack::list(&mut *database.connection().await?, id).await?;
        let (generation, packs) = listed.ok_or(Error::NoRepository)?;
        let missing = self.complete(database, objects, &bare, &packs).await?;
        // Before anything goes: no graph may name a commit that is not here.
        set_graph(&bare, &packs)?;
        self.remove_unlisted(&bare, &packs)?;
        touch::forget(&bare)?;
        match packs.iter().find(|pack| !is_linked(&bare, pack)) {
            Some(pack) => Err(Error::Missing(pack.id)),
            None => Ok((bare, generation, missing)),
        }
    }

    /// What is no longer listed must not be found: somebody might come to depend on it.
    fn remove_unlisted(&self, bare: &Bare, listed: &[Pack]) -> Result<()> {
        let stems: HashSet<String> = listed.iter().map(stem).collect();
        let mut unlisted = Vec::new();
        for file in std::fs::read_dir(bare.packs())? {
            let path = file?.path();
            let is_listed = path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| stems.contains(name));
            unlisted.extend(Some(path).filter(|_| !is_listed));
        }
        // The index first: it is what makes git see the pack.
        unlisted.sort_by_key(|path| path.extension() != Some(PARTS[1].as_ref()));
        for path in unlisted {
            std::fs::remove_file(&path)?;
            self.remove_if_unlinked(&self.slot.packs().join(path.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    fn link(&self, bare: &Bare, pack: &Pack) -> Result<()> {
        // The index last: it is what makes git see the pack.
        for part in [0, 2, 3, 4, 1] {
            if pack.sizes[part] == 0 {
                continue;
            }
            match std::fs::hard_link(self.slot.pack(pack, PARTS[part]), link_of(bare, pack, PARTS[part])) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes over a pack that this node has just made known, with the repository's new generation.
    pub async fn adopt(&self, lease: &Lease, generation: i64, new: Option<(Pack, &IndexedPack)>) -> Result<()> {
        let mut known = lease.entry.generation.lock().await;
        // The list was read since, and it may be off that again.
        if *known >= generation {
            return Ok(());
        }
        if let Some((pack, files)) = new {
            self.add(&lease.bare, &pack, files)?;
        }
        // Others may have changed the list in between.
        if *known == generation - 1 {
            *known = generation;
        }
        Ok(())
    }

    /// Keeps a pack for when the list is read next.
    pub async fn keep(&self, lease: &Lease, pack: &Pack, files: &IndexedPack) -> Result<()> {
        let _alone = lease.entry.generation.lock().await;
        self.add(&lease.bare, pack, files)
    }

    fn add(&self, bare: &Bare, pack: &Pack, files: &IndexedPack) -> Result<()> {
        touch::add(bare, || {
            self.take_over(pack, files)?;
            self.link(bare, pack)
        })?;
        // Somebody may have deleted it before its going counted.
        if is_linked(bare, pack) { Ok(()) } else { Err(Error::Missing(pack.id)) }
    }

    fn take_over(&self, pack: &Pack, files: &IndexedPack) -> Result<()> {
        for (part, size) in PARTS.iter().zip(pack.sizes) {
            if size > 0 {
                self.place(&files.file(part), pack, part, size)?;
            }
        }
        Ok(())
    }

    /// A repository apart with some of the same packs, of which some are marked to be kept as they are.
    pub fn copy<'a>(
        &self,
        lease: &Lease,
        packs: impl IntoIterator<Item = &'a Pack>,
        kept: &[PackId],
    ) -> Result<Incoming> {
        let copy = self.incoming(None)?;
        for pack in packs {
            for (part, size) in PARTS.iter().zip(pack.sizes) {
                if size > 0 {
                    std::fs::hard_link(link_of(&lease.bare, pack, part), link_of(copy.bare(), pack, part))?;
                }
            }
            if kept.contains(&pack.id) {
                std::fs::write(link_of(copy.bare(), pack, "keep"), "")?;
            }
        }
        Ok(copy)
    }

    /// The index of one that the copy has.
    pub fn index(&self, lease: &Lease, pack: &Pack) -> PathBuf {
        link_of(&lease.bare, pack, PARTS[1])
    }

    /// Takes nothing for current any more.
    pub async fn distrust(&self) {
        let entries: Vec<_> =
            self.repositories.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for entry in entries {
            *entry.generation.lock().await = -1;
        }
    }

    /// What the disk has left.
    pub fn room(&self) -> std::io::Result<u64> {
        let disk = rustix::fs::statvfs(self.slot.directory())?;
        Ok(disk.f_bavail * disk.f_frsize)
    }

    /// How often a copy that was asked for had all its packs, and how often some had to be fetched.
    pub fn uses(&self) -> (u64, u64) {
        (self.uses.here.load(Ordering::Relaxed), self.uses.fetched.load(Ordering::Relaxed))
    }

    pub fn bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub fn directory(&self) -> PathBuf {
        self.slot.directory()
    }
}

/// The graph of the largest pack that has one is that of the repository.
fn set_graph(bare: &Bare, packs: &[Pack]) -> std::io::Result<()> {
    let place = bare.graph();
    let Some(pack) = packs.iter().filter(|pack| pack.sizes[4] > 0).max_by_key(|pack| pack.sizes[4]) else {
        return match std::fs::remove_file(place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    let graph = link_of(bare, pack, PARTS[4]);
    let inode = |path: &Path| std::fs::metadata(path).map(|file| file.ino());
    if inode(&place).ok() == Some(inode(&graph)?) {
        return Ok(());
    }
    let beside = place.with_extension("new");
    std::fs::remove_file(&beside).ok();
    std::fs::hard_link(&graph, &beside)?;
    std::fs::rename(beside, place)
}

/// All of it: somebody may have deleted a part.
fn is_linked(bare: &Bare, pack: &Pack) -> bool {
    PARTS.iter().zip(pack.sizes).all(|(part, size)| size == 0 || link_of(bare, pack, part).exists())
}

fn link_of(bare: &Bare, pack: &Pack, part: &str) -> PathBuf {
    bare.packs().join(format!("{}.{part}", stem(pack)))
}

/// With what is in it: in a database that was set back an id comes a second time, for something else.
pub fn stem(pack: &Pack) -> String {
    format!("pack-{}-{}", pack.checksum, pack.id)
}

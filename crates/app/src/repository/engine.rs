//! What a node needs to work with repositories.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::reader::{Kept, Kind};
use holdfast_git::{Git, ObjectId};
use holdfast_store::Cache;
use holdfast_store::cache::Lease;
use holdfast_store::repository::snapshot::Snapshots;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use holdfast_git::pack_scan::PackLimits;

use super::answer::Answers;
use super::bundle::Bundle;
use crate::client::{ClientKey, ClientPermits, KeyedPermit, KeyedSemaphores, client_share};
use crate::{App, Error, Result};

/// What operators decide about repositories.
#[derive(Clone, Debug)]
pub struct GitSettings {
    pub program: PathBuf,
    pub cache_directory: PathBuf,
    pub cache_max_bytes: u64,
    /// What one push or import may send, and what that may unpack to.
    pub pack_limits: PackLimits,
    /// Maximum number of refs in one repository.
    pub max_refs: usize,
    /// Of one process of git.
    pub max_memory_bytes: u64,
    /// On this node, at once; who comes later waits. One client gets at most a quarter of either.
    pub max_fetches: usize,
    pub max_pushes: usize,
    /// Of one repository, so that it does not take all of them.
    pub max_fetches_per_repository: usize,
    /// Packs up to this size travel inside the transaction.
    pub inline_pack_bytes: u64,
    /// Repositories whose pack is at least so large offer it as one file.
    pub bundle_from_bytes: u64,
    /// So many packs of one repository are made into one.
    pub compact_at: i64,
    /// How long a client may take to send a complete request.
    pub request_timeout: Duration,
}

pub struct Engine {
    pub git: Git,
    pub settings: GitSettings,
    pub(super) snapshots: Snapshots,
    /// Repositories that were looked into lately.
    pub(super) readers: moka::sync::Cache<RepositoryId, Arc<Kept>>,
    /// Objects that refs were found to lead to, and the generation that was true at.
    pub(super) reached: moka::sync::Cache<(RepositoryId, ObjectId, Kind), i64>,
    /// The files of default branches, by the directory at the top.
    pub(super) heads: moka::sync::Cache<ObjectId, Arc<[ObjectId]>>,
    /// How many directories, files and submodules there are in a directory, or in all below it.
    pub(super) counts: moka::sync::Cache<(ObjectId, bool), [usize; 3]>,
    pub answers: Arc<Answers>,
    /// What can be given out as one file, and the generation that was true at.
    pub(super) bundles: moka::sync::Cache<RepositoryId, (i64, Option<Arc<Bundle>>)>,
    cache: OnceLock<Cache>,
    opening: Mutex<()>,
    fetches: Arc<Semaphore>,
    fetches_of_clients: KeyedSemaphores<ClientKey>,
    fetches_of_repositories: KeyedSemaphores<RepositoryId>,
    pushes: ClientPermits,
    /// Requests that are in memory and are not small.
    pub(super) long_requests: ClientPermits,
}

/// Each has up to 8 MiB in memory, and as much again while it is checked.
const MAX_LONG_REQUESTS: usize = 16;
/// Refs in memory, of all repositories together: one with a million of them fits in.
const SNAPSHOT_BYTES: u64 = 256 << 20;
/// Each maps its packs into memory, of which the system allows 65,530 in all.
const READERS: u64 = 500;
const READER_KEPT: Duration = Duration::from_secs(600);
/// About a hundred bytes each.
const REACHED: u64 = 100_000;
/// Bytes, and what an entry takes beside its ids.
const HEADS: u64 = 64 << 20;
const ENTRY: usize = 200;
const COUNTS: u64 = 10_000;

impl Engine {
    pub fn new(settings: GitSettings) -> Self {
        Self {
            git: Git::new(&settings.program, settings.max_memory_bytes),
            snapshots: Snapshots::new(SNAPSHOT_BYTES),
            readers: moka::sync::Cache::builder().max_capacity(READERS).time_to_live(READER_KEPT).build(),
            reached: moka::sync::Cache::new(REACHED),
            heads: moka::sync::Cache::builder()
                .weigher(|_, ids: &Arc<[ObjectId]>| size(ids))
                .max_capacity(HEADS)
                .build(),
            counts: moka::sync::Cache::new(COUNTS),
            answers: Arc::new(Answers::new(settings.cache_max_bytes / 4)),
            bundles: moka::sync::Cache::new(READERS),
            cache: OnceLock::new(),
            opening: Mutex::default(),
            fetches: Arc::new(Semaphore::new(settings.max_fetches)),
            fetches_of_clients: KeyedSemaphores::new(client_share(settings.max_fetches)),
            fetches_of_repositories: KeyedSemaphores::new(settings.max_fetches_per_repository),
            pushes: ClientPermits::for_clients(settings.max_pushes),
            long_requests: ClientPermits::for_clients(MAX_LONG_REQUESTS),
            settings,
        }
    }

    /// Opened when it is first used: most commands need none of it.
    pub fn cache(&self) -> Result<&Cache> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache);
        }
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.cache.get().is_none() {
            let settings = &self.settings;
            let opened = Cache::open(&settings.cache_directory, settings.cache_max_bytes);
            let opened = opened.map_err(|error| Error::Internal(error.into()))?;
            self.cache.get_or_init(|| opened);
        }
        self.cache.get().ok_or_else(|| unreachable!("it was opened just now"))
    }

    /// The copies on this node; none while there are none.
    pub fn copies(&self) -> Option<&Cache> {
        self.cache.get()
    }

    /// For a database that was set back in time: what this node knows of it may never have happened.
    pub async fn forget(&self) {
        self.snapshots.clear();
        self.readers.invalidate_all();
        self.reached.invalidate_all();
        self.bundles.invalidate_all();
        self.answers.forget();
        if let Some(cache) = self.cache.get() {
            cache.distrust().await;
        }
    }

    /// Waits until this client has less than its share of fetches. To be called before [`Self::turn_to_fetch`].
    pub(super) async fn client_turn_to_fetch(&self, client: ClientKey) -> OwnedSemaphorePermit {
        self.fetches_of_clients.acquire(client).await
    }

    /// Returns `None` if this client has its share of fetches.
    pub(super) fn try_client_turn_to_fetch(&self, client: ClientKey) -> Option<OwnedSemaphorePermit> {
        self.fetches_of_clients.try_acquire(client)
    }

    /// Waits for a turn: first among those who fetch from the same repository, so that a crowd at one of them leaves the
    /// others their places.
    pub(super) async fn turn_to_fetch(&self, id: RepositoryId) -> (OwnedSemaphorePermit, OwnedSemaphorePermit) {
        let of_repository = self.fetches_of_repositories.acquire(id).await;
        let of_node = self.fetches.clone().acquire_owned().await.expect("the semaphore is never closed");
        (of_repository, of_node)
    }

    pub(crate) fn pushes_under_way(&self) -> usize {
        self.pushes.held()
    }

    pub(super) async fn turn_to_push(&self, client: ClientKey) -> KeyedPermit {
        self.pushes.acquire(client).await
    }
}

fn size(ids: &[ObjectId]) -> u32 {
    u32::try_from(size_of_val(ids) + ENTRY).unwrap_or(u32::MAX)
}

impl App {
    /// This node's copy of a repository, with at least the packs of that generation.
    pub(super) async fn lease(&self, id: RepositoryId, generation: i64) -> Result<Lease> {
        let lease = self.engine.cache()?.lease(&self.database, &self.objects, id, generation).await?;
        if lease.was_missing {
            // A reader never looks again for a pack that was gone when it was wanted.
            self.engine.readers.invalidate(&id);
        }
        Ok(lease)
    }
}

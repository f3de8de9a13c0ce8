//! The per-node runtime of git operations: settings, caches, and the permits that limit concurrent work.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::reader::{CachedReader, Kind};
use holdfast_git::{Git, ObjectId};
use holdfast_store::Cache;
use holdfast_store::cache::CachedRepository;
use holdfast_store::repository::snapshot::Snapshots;

pub use holdfast_git::pack_scan::PackLimits;

use super::browse::last_commit::{LastCommits, LastCommitsKey};
use super::fetch_slot::FetchPermits;
use super::transfer::bundle::Bundle;
use super::transfer::shared_fetch::SharedFetches;
use crate::client::{ClientKey, ClientPermits, KeyedPermit};
use crate::{App, Error, Result};

/// Runtime settings of git operations, converted from the configuration file.
#[derive(Clone, Debug)]
pub struct GitSettings {
    pub program: PathBuf,
    pub cache_directory: PathBuf,
    pub cache_max_bytes: u64,
    /// Limits on the pack of one push or import, compressed and inflated.
    pub pack_limits: PackLimits,
    /// Maximum number of refs in one repository.
    pub max_refs: usize,
    /// Maximum memory of one git process.
    pub max_process_memory_bytes: u64,
    /// Maximum number of concurrent fetches on this node; later ones wait. One client gets at most a quarter of the
    /// permits.
    pub max_fetches: usize,
    /// Maximum number of concurrent pushes on this node, with the same share for one client.
    pub max_pushes: usize,
    /// Maximum number of concurrent fetches of one repository, so that it does not take all permits of the node.
    pub max_fetches_per_repository: usize,
    /// Packs up to this size are stored in PostgreSQL, in the transaction of the ref updates; larger ones in the object
    /// store.
    pub inline_pack_bytes: u64,
    /// Minimum size of a base pack that is offered as a bundle.
    pub bundle_min_bytes: u64,
    /// Maximum time for a client to send a complete request.
    pub request_timeout: Duration,
}

/// The git runtime of one node, shared by all requests.
pub struct GitRuntime {
    pub git: Git,
    pub settings: GitSettings,
    pub(super) snapshots: Snapshots,
    /// Open readers of recently read repositories.
    pub(super) readers: moka::sync::Cache<RepositoryId, Arc<CachedReader>>,
    /// Objects that are known to be reachable, each with the generation at which it was.
    pub(super) reachable_cache: moka::sync::Cache<(RepositoryId, ObjectId, Kind), i64>,
    /// The blob ids of default branches, by the id of the root tree.
    pub(super) default_branch_blobs: moka::sync::Cache<ObjectId, Arc<[ObjectId]>>,
    /// Counts of directories, files and submodules, by tree id and whether subdirectories are included.
    pub(super) entry_counts: moka::sync::Cache<(ObjectId, bool), [usize; 3]>,
    /// The last commits of the entries of directories.
    pub(super) last_commits: moka::sync::Cache<LastCommitsKey, Arc<LastCommits>>,
    pub shared_fetches: Arc<SharedFetches>,
    /// The bundle of a repository, if it has one, with the generation at which it was looked up.
    pub(super) bundles: moka::sync::Cache<RepositoryId, (i64, Option<Arc<Bundle>>)>,
    cache: OnceLock<Cache>,
    open_lock: Mutex<()>,
    pub(super) fetch_permits: FetchPermits,
    push_permits: ClientPermits,
    /// Permits for requests in memory that are not small.
    pub(super) long_request_permits: ClientPermits,
    pub(super) object_read_permits: Arc<ClientPermits>,
}

/// Maximum number of long requests in memory on this node. Each takes up to 8 MiB, and as much again while it is
/// checked.
const MAX_LONG_REQUESTS: usize = 16;
/// Maximum number of concurrent object reads on this node. Each takes up to 15 MB of memory and a core. One client gets
/// a quarter.
const MAX_OBJECT_READS: usize = 16;
/// Maximum memory of the ref snapshots of all repositories together. A repository with a million refs fits in.
const MAX_SNAPSHOT_BYTES: u64 = 256 << 20;
/// Maximum number of open readers. Each memory-maps its packs, and Linux allows 65,530 mappings in a process by
/// default.
const MAX_READERS: u64 = 500;
const READER_TTL: Duration = Duration::from_secs(600);
/// Maximum number of objects in the reachability cache. Each takes about a hundred bytes.
const MAX_REACHABLE_ENTRIES: u64 = 100_000;
/// Maximum memory of the cached blob lists.
const MAX_BLOB_LIST_BYTES: u64 = 64 << 20;
/// Approximate size of a cached blob list without its ids.
const ENTRY_OVERHEAD_BYTES: usize = 200;
const MAX_ENTRY_COUNTS: u64 = 10_000;
/// Maximum memory of the cached last commits: about a hundred thousand entries of directories.
const MAX_LAST_COMMITS_BYTES: u64 = 64 << 20;

impl GitRuntime {
    pub fn new(settings: GitSettings) -> Self {
        Self {
            git: Git::new(&settings.program, settings.max_process_memory_bytes),
            snapshots: Snapshots::new(MAX_SNAPSHOT_BYTES),
            readers: moka::sync::Cache::builder().max_capacity(MAX_READERS).time_to_live(READER_TTL).build(),
            reachable_cache: moka::sync::Cache::new(MAX_REACHABLE_ENTRIES),
            default_branch_blobs: moka::sync::Cache::builder()
                .weigher(|_, ids: &Arc<[ObjectId]>| weigh_ids(ids))
                .max_capacity(MAX_BLOB_LIST_BYTES)
                .build(),
            entry_counts: moka::sync::Cache::new(MAX_ENTRY_COUNTS),
            last_commits: moka::sync::Cache::builder()
                .weigher(|_, commits: &Arc<LastCommits>| commits.weight())
                .max_capacity(MAX_LAST_COMMITS_BYTES)
                .build(),
            shared_fetches: Arc::new(SharedFetches::new(settings.cache_max_bytes / 4)),
            bundles: moka::sync::Cache::new(MAX_READERS),
            cache: OnceLock::new(),
            open_lock: Mutex::default(),
            fetch_permits: FetchPermits::new(settings.max_fetches, settings.max_fetches_per_repository),
            push_permits: ClientPermits::for_clients(settings.max_pushes),
            long_request_permits: ClientPermits::for_clients(MAX_LONG_REQUESTS),
            object_read_permits: Arc::new(ClientPermits::for_clients(MAX_OBJECT_READS)),
            settings,
        }
    }

    /// Returns the repository cache. Opens it on first use, since most commands do not need it.
    pub fn cache(&self) -> Result<&Cache> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache);
        }
        let _guard = self.open_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.cache.get().is_none() {
            let settings = &self.settings;
            let new_cache = Cache::open(&settings.cache_directory, settings.cache_max_bytes);
            let new_cache = new_cache.map_err(|error| Error::Internal(error.into()))?;
            self.cache.get_or_init(|| new_cache);
        }
        self.cache.get().ok_or_else(|| unreachable!("the cache was initialized above"))
    }

    /// Returns the repository cache if this process has opened it.
    pub fn cache_if_open(&self) -> Option<&Cache> {
        self.cache.get()
    }

    /// Drops all cached data that depends on the database. Needed after the database was rolled back to an earlier
    /// point, since the data may describe changes that no longer exist.
    pub async fn invalidate_caches(&self) {
        self.snapshots.clear();
        self.readers.invalidate_all();
        self.reachable_cache.invalidate_all();
        self.bundles.invalidate_all();
        self.shared_fetches.clear();
        if let Some(cache) = self.cache.get() {
            cache.invalidate_all().await;
        }
    }

    pub(crate) fn active_pushes(&self) -> usize {
        self.push_permits.held_count()
    }

    pub(super) async fn acquire_push_permit(&self, client: ClientKey) -> KeyedPermit {
        self.push_permits.acquire(client).await
    }
}

fn weigh_ids(ids: &[ObjectId]) -> u32 {
    u32::try_from(size_of_val(ids) + ENTRY_OVERHEAD_BYTES).unwrap_or(u32::MAX)
}

impl App {
    /// Returns this node's cached repository, with at least the packs of that generation. Downloads missing packs.
    pub(super) async fn cached_repository(&self, id: RepositoryId, generation: i64) -> Result<CachedRepository> {
        let cached_repository =
            self.git_runtime.cache()?.acquire(&self.database, &self.objects, id, generation).await?;
        if cached_repository.had_missing_packs {
            // An open reader does not retry a pack that was missing when it was needed.
            self.git_runtime.readers.invalidate(&id);
        }
        Ok(cached_repository)
    }
}

//! Shared fetches: identical requests receive the same response of git.
//!
//! The response depends only on immutable objects. It is shared with requests that arrive while it is computed or
//! shortly after. The caller checks for each request that it may be served before the request joins.

mod git_output;
mod shared_response;
mod state;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::BoxStream;
use holdfast_domain::ids::RepositoryId;
use holdfast_git::protocol::Version;
use holdfast_git::protocol::upload::FetchRequest;
use sha2::{Digest, Sha256};
use tracing::Instrument;

use crate::Result;
use crate::repository::bounded_stream::{bounded_stream, client_disconnected};

pub(super) use git_output::{GitOutput, start_git};
use shared_response::{ResponseReader, Retained, SharedResponse};
use state::Budget;

/// Maximum number of chunks that are queued for one client.
const MAX_CHUNKS_IN_FLIGHT: usize = 4;
/// How long a finished response is retained for identical requests that arrive late.
const RESPONSE_TTL: Duration = Duration::from_secs(30);
/// Maximum size of all retained responses in memory.
const MAX_RETAINED_MEMORY_BYTES: u64 = 32 << 20;
/// Maximum size of all retained responses in files.
const MAX_RETAINED_FILE_BYTES: u64 = 512 << 20;
/// Larger requests are not shared: their `have` lines are specific to one client.
const MAX_SHARED_REQUEST_BYTES: usize = 256 << 10;

/// The hash of a request, its repository and its protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FetchKey([u8; 32]);

impl FetchKey {
    /// Returns the key of a request, in the form in which git receives it. Returns `None` if the response cannot be
    /// shared.
    pub async fn for_request(repository: RepositoryId, version: Version, fetch: &FetchRequest) -> Result<Option<Self>> {
        // Refs that the request names may be updated before the next request.
        if fetch.has_named_refs || fetch.raw.len() > MAX_SHARED_REQUEST_BYTES {
            return Ok(None);
        }
        let mut hash = Sha256::new();
        hash.update(repository.get().to_be_bytes());
        hash.update(version.as_env_value());
        hash.update(fetch.without_client_identity().await?);
        Ok(Some(Self(hash.finalize().into())))
    }
}

/// Responses in progress, and finished ones that are retained for a short time.
pub struct SharedFetches {
    budget: Arc<Budget>,
    in_progress: Mutex<HashMap<FetchKey, Weak<SharedResponse>>>,
    in_memory: moka::sync::Cache<FetchKey, Arc<SharedResponse>>,
    in_files: moka::sync::Cache<FetchKey, Arc<SharedResponse>>,
    computed: AtomicU64,
    shared: AtomicU64,
}

impl SharedFetches {
    pub(in crate::repository) fn new(max_disk_bytes: u64) -> Self {
        let build_cache = |bytes| {
            moka::sync::Cache::builder()
                .weigher(|_, response: &Arc<SharedResponse>| match response.retained() {
                    Some(Retained::InMemory(bytes) | Retained::InFile(bytes)) => {
                        u32::try_from(bytes).unwrap_or(u32::MAX)
                    }
                    None => 0,
                })
                .max_capacity(bytes)
                .time_to_live(RESPONSE_TTL)
                .build()
        };
        Self {
            budget: Arc::new(Budget::new(max_disk_bytes)),
            in_progress: Mutex::default(),
            in_memory: build_cache(MAX_RETAINED_MEMORY_BYTES),
            in_files: build_cache(MAX_RETAINED_FILE_BYTES),
            computed: AtomicU64::new(0),
            shared: AtomicU64::new(0),
        }
    }

    /// Returns the number of fetches that git computed, and of those that received a shared response.
    pub fn counts(&self) -> (u64, u64) {
        (self.computed.load(Ordering::Relaxed), self.shared.load(Ordering::Relaxed))
    }

    pub(in crate::repository) fn clear(&self) {
        self.in_progress.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.in_memory.invalidate_all();
        self.in_files.invalidate_all();
    }

    /// Evicts expired responses. Without this call they would be evicted only when the caches are used.
    pub fn run_pending_evictions(&self) {
        self.in_memory.run_pending_tasks();
        self.in_files.run_pending_tasks();
    }

    /// Joins a response that is retained or in progress. Returns `None` if there is none.
    pub(super) fn join_existing(&self, key: FetchKey) -> Option<ResponseReader> {
        let retained = self.in_memory.get(&key).or_else(|| self.in_files.get(&key));
        retained.as_ref().and_then(SharedResponse::join).or_else(|| {
            let in_progress = self.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
            in_progress.get(&key).and_then(Weak::upgrade).as_ref().and_then(SharedResponse::join)
        })
    }

    /// Joins the response to a request, or creates it. Returns the reader, and whether the response existed.
    pub(super) fn join(&self, key: FetchKey, directory: PathBuf) -> (ResponseReader, bool) {
        if let Some(reader) = self.join_existing(key) {
            return (reader, true);
        }
        let mut in_progress = self.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        let existing = in_progress.get(&key).and_then(Weak::upgrade);
        if let Some(reader) = existing.as_ref().and_then(SharedResponse::join) {
            return (reader, true);
        }
        in_progress.retain(|_, response| response.strong_count() > 0);
        let response = SharedResponse::new(&self.budget, directory, existing.is_some());
        in_progress.insert(key, Arc::downgrade(&response));
        (response.join().expect("a new shared response can be joined"), false)
    }

    /// Creates a response that no other request can join.
    pub(super) fn unshared(&self) -> ResponseReader {
        SharedResponse::unshared(&self.budget).join().expect("a new shared response can be joined")
    }

    fn retain(&self, key: FetchKey, response: &Arc<SharedResponse>) {
        match response.retained() {
            Some(Retained::InMemory(_)) => self.in_memory.insert(key, response.clone()),
            Some(Retained::InFile(_)) => self.in_files.insert(key, response.clone()),
            None => {}
        }
    }

    /// Starts git unless another reader has, and streams the response at the pace of the client. Returns `None` if
    /// another reader failed to start git.
    pub(super) async fn stream_to_client(
        self: &Arc<Self>,
        mut reader: ResponseReader,
        key: Option<FetchKey>,
        start: impl Future<Output = Result<GitOutput>>,
    ) -> Result<Option<BoxStream<'static, std::io::Result<bytes::Bytes>>>> {
        if !reader.ensure_started(start).await? {
            return Ok(None);
        }
        let (mut sender, stream) = bounded_stream(MAX_CHUNKS_IN_FLIGHT);
        let shared_fetches = Arc::downgrade(self);
        let work = async move {
            let closed = sender.closed();
            let forward = async {
                let on_end = |response: &Arc<SharedResponse>| {
                    if let (Some(key), Some(shared_fetches)) = (key, shared_fetches.upgrade()) {
                        shared_fetches.retain(key, response);
                    }
                };
                while let Some(chunk) = reader.next(on_end).await? {
                    let bytes = chunk.len();
                    sender.send(chunk, bytes).await?;
                }
                Ok(())
            };
            let result = tokio::select! {
                passed = forward => passed,
                () = closed => Err(client_disconnected()),
            };
            // Stop counting as a reader before the client has received the last chunks, so that a slow client does not
            // hold up the others.
            drop(reader);
            match result {
                Ok(()) => sender.finish().await,
                Err(error) => {
                    tracing::info!(%error, "client disconnected during fetch");
                    sender.abort(error);
                }
            }
        };
        tokio::spawn(work.instrument(tracing::Span::current()));
        Ok(Some(stream))
    }

    pub(super) fn record_fetch(&self, is_shared: bool) {
        let counter = if is_shared { &self.shared } else { &self.computed };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

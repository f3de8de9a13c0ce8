//! Equal fetches are answered once. What git makes of a request depends on objects alone, and objects do not change: who
//! asks for the same while it is made, or shortly after, is given the same. Whether somebody may ask for it is decided
//! before, for each.

mod source;
mod spool;
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
use holdfast_git::protocol::upload::Fetch;
use sha2::{Digest, Sha256};
use tracing::Instrument;

use super::outlet::{gone, outlet};
use crate::Result;

pub(super) use source::{Source, start};
use spool::{Kept, Reader, Spool};
use state::Budget;

/// On their way to one client.
const CHUNKS: usize = 4;
/// How long an answer is given again after it was made: for those of a crowd that come late.
const KEPT: Duration = Duration::from_secs(30);
const KEPT_IN_MEMORY: u64 = 32 << 20;
const KEPT_IN_FILES: u64 = 512 << 20;
/// Requests that say more than this about what the client has are nobody else's.
const LONGEST_KEY: usize = 256 << 10;

/// What is asked, of which repository and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// None if nobody can be given the same. The request must be as git is to see it.
    pub async fn of(repository: RepositoryId, version: Version, fetch: &Fetch) -> Result<Option<Self>> {
        // Refs may have moved when the next one asks.
        if fetch.names_refs || fetch.raw.len() > LONGEST_KEY {
            return Ok(None);
        }
        let mut hash = Sha256::new();
        hash.update(repository.get().to_be_bytes());
        hash.update(version.variable());
        hash.update(fetch.without_names().await?);
        Ok(Some(Self(hash.finalize().into())))
    }
}

/// Those that are being made, and those that were made just now.
pub struct Answers {
    budget: Arc<Budget>,
    under_way: Mutex<HashMap<Key, Weak<Spool>>>,
    in_memory: moka::sync::Cache<Key, Arc<Spool>>,
    in_files: moka::sync::Cache<Key, Arc<Spool>>,
    computed: AtomicU64,
    shared: AtomicU64,
}

impl Answers {
    pub(super) fn new(most_on_disk: u64) -> Self {
        let kept = |bytes| {
            moka::sync::Cache::builder()
                .weigher(|_, spool: &Arc<Spool>| match spool.kept() {
                    Some(Kept::InMemory(bytes) | Kept::InFile(bytes)) => u32::try_from(bytes).unwrap_or(u32::MAX),
                    None => 0,
                })
                .max_capacity(bytes)
                .time_to_live(KEPT)
                .build()
        };
        Self {
            budget: Arc::new(Budget::new(most_on_disk)),
            under_way: Mutex::default(),
            in_memory: kept(KEPT_IN_MEMORY),
            in_files: kept(KEPT_IN_FILES),
            computed: AtomicU64::new(0),
            shared: AtomicU64::new(0),
        }
    }

    /// How many fetches git answered, and how many were given the answer of another.
    pub fn counts(&self) -> (u64, u64) {
        (self.computed.load(Ordering::Relaxed), self.shared.load(Ordering::Relaxed))
    }

    pub(super) fn forget(&self) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.in_memory.invalidate_all();
        self.in_files.invalidate_all();
    }

    /// Lets go of what was kept long enough, also where nobody asks any more.
    pub fn tidy(&self) {
        self.in_memory.run_pending_tasks();
        self.in_files.run_pending_tasks();
    }

    /// Returns the answer to that, if it was or is being made for somebody else.
    pub(super) fn join_existing(&self, key: Key) -> Option<Reader> {
        let kept = self.in_memory.get(&key).or_else(|| self.in_files.get(&key));
        kept.as_ref().and_then(Spool::join).or_else(|| {
            let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            under_way.get(&key).and_then(Weak::upgrade).as_ref().and_then(Spool::join)
        })
    }

    /// The answer to that, and whether it is another's.
    pub(super) fn join(&self, key: Key, directory: PathBuf) -> (Reader, bool) {
        if let Some(reader) = self.join_existing(key) {
            return (reader, true);
        }
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let known = under_way.get(&key).and_then(Weak::upgrade);
        if let Some(reader) = known.as_ref().and_then(Spool::join) {
            return (reader, true);
        }
        under_way.retain(|_, spool| spool.strong_count() > 0);
        let spool = Spool::new(&self.budget, directory, known.is_some());
        under_way.insert(key, Arc::downgrade(&spool));
        (spool.join().expect("it is new"), false)
    }

    /// One that nobody else is given.
    pub(super) fn alone(&self) -> Reader {
        Spool::alone(&self.budget).join().expect("it is new")
    }

    fn keep(&self, key: Key, spool: &Arc<Spool>) {
        match spool.kept() {
            Some(Kept::InMemory(_)) => self.in_memory.insert(key, spool.clone()),
            Some(Kept::InFile(_)) => self.in_files.insert(key, spool.clone()),
            None => {}
        }
    }

    /// Makes it, unless somebody else does; then what comes of it, as fast as it is taken. None if somebody else could
    /// not make it.
    pub(super) async fn give(
        self: &Arc<Self>,
        mut reader: Reader,
        key: Option<Key>,
        start: impl Future<Output = Result<Source>>,
    ) -> Result<Option<BoxStream<'static, std::io::Result<bytes::Bytes>>>> {
        if !reader.begin(start).await? {
            return Ok(None);
        }
        let (mut outlet, answer) = outlet(CHUNKS);
        let answers = Arc::downgrade(self);
        let work = async move {
            let closed = outlet.closed();
            let pass_on = async {
                let ended = |spool: &Arc<Spool>| {
                    if let (Some(key), Some(answers)) = (key, answers.upgrade()) {
                        answers.keep(key, spool);
                    }
                };
                while let Some(part) = reader.next(ended).await? {
                    let bytes = part.len();
                    outlet.send(part, bytes).await?;
                }
                Ok(())
            };
            let passed = tokio::select! {
                passed = pass_on => passed,
                () = closed => Err(gone()),
            };
            // Nobody waits for one that only has its last parts in front of it.
            drop(reader);
            match passed {
                Ok(()) => outlet.end().await,
                Err(error) => {
                    tracing::info!(%error, "a fetch broke off");
                    outlet.break_off(error);
                }
            }
        };
        tokio::spawn(work.instrument(tracing::Span::current()));
        Ok(Some(answer))
    }

    pub(super) fn count(&self, is_shared: bool) {
        let counter = if is_shared { &self.shared } else { &self.computed };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

//! A response of git with any number of readers, each at its own pace.
//!
//! - The reader that is furthest ahead produces the next chunk; the others find it here.
//! - A small response is kept in memory as a whole.
//! - A large one is spilled to a file if it has several readers. For a single reader it is passed through and not kept.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{Notify, OwnedMutexGuard};

use super::git_output::GitOutput;
use super::state::{Budget, ChunkLocation, ResponseState, Stage, aborted};
use crate::Result;

/// Minimum number of bytes that are written to the file at a time.
const SPILL_BATCH_BYTES: u64 = 512 << 10;
/// Number of bytes at the end of a spilled response that stay in memory.
const MEMORY_TAIL_BYTES: u64 = 1 << 20;
/// How long a reader of a response that is not kept may hold up the others before it is dropped.
const SLOW_READER_TIMEOUT: Duration = Duration::from_secs(10);

/// A response of git that several requests can read.
pub struct SharedResponse {
    budget: Arc<Budget>,
    /// The directory of the temporary file.
    directory: PathBuf,
    /// Set if an earlier response to the same request can no longer be joined, which makes further readers likely.
    expects_more_readers: bool,
    /// Locked by the reader that produces the next chunk.
    producer: Arc<tokio::sync::Mutex<Producer>>,
    state: Mutex<ResponseState>,
    /// Notified when a reader advances or leaves.
    reader_progress: Notify,
}

enum Producer {
    New,
    Running(GitOutput),
    Ended,
}

/// The size of a finished response that can be sent again, and where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retained {
    InMemory(u64),
    InFile(u64),
}

impl SharedResponse {
    pub fn new(budget: &Arc<Budget>, directory: PathBuf, expects_more_readers: bool) -> Arc<Self> {
        Self::with_stage(Stage::Buffering, budget, directory, expects_more_readers)
    }

    /// Creates a response for one reader that no other can join.
    pub fn unshared(budget: &Arc<Budget>) -> Arc<Self> {
        Self::with_stage(Stage::PassThrough, budget, PathBuf::new(), false)
    }

    fn with_stage(stage: Stage, budget: &Arc<Budget>, directory: PathBuf, expects_more_readers: bool) -> Arc<Self> {
        Arc::new(Self {
            budget: budget.clone(),
            directory,
            expects_more_readers,
            producer: Arc::new(tokio::sync::Mutex::new(Producer::New)),
            state: Mutex::new(ResponseState::new(stage, budget.clone())),
            reader_progress: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, ResponseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reader. Returns `None` if the response has failed, or its beginning is not kept.
    pub fn join(self: &Arc<Self>) -> Option<ResponseReader> {
        let id = self.state().join()?;
        // The first reader holds the producer lock from the start: the others wait for it, never the reverse.
        let producer = if id == 0 { self.producer.clone().try_lock_owned().ok() } else { None };
        Some(ResponseReader { response: self.clone(), producer, id, position: 0 })
    }

    /// Returns where the response is kept, or `None` if it is unfinished, failed or not kept.
    pub fn retained(&self) -> Option<Retained> {
        let state = self.state();
        match (state.outcome, state.stage) {
            (Some(true), Stage::Buffering) => Some(Retained::InMemory(state.end)),
            (Some(true), Stage::SpillingToDisk) => Some(Retained::InFile(state.end)),
            _ => None,
        }
    }

    /// Produces the next chunk, unless another reader has. Returns true if this was the end of a successful response.
    /// If the reader disconnects meanwhile, the next one continues.
    async fn advance(&self, position: u64) -> io::Result<bool> {
        let mut producer = self.producer.lock().await;
        {
            let state = self.state();
            if state.end > position || state.outcome.is_some() {
                return Ok(false);
            }
        }
        let Producer::Running(source) = &mut *producer else { return Err(aborted()) };
        self.wait_for_slowest_reader().await;
        let next = source.next().await;
        match next {
            Some(Ok(chunk)) => {
                self.state().append(chunk, self.expects_more_readers);
                self.spill(SPILL_BATCH_BYTES, MEMORY_TAIL_BYTES).await;
                Ok(false)
            }
            None => {
                // Git has exited and its permits are released, so the write does not hold them up.
                self.spill(1, 0).await;
                *producer = Producer::Ended;
                self.state().outcome = Some(true);
                Ok(true)
            }
            Some(Err(error)) => {
                *producer = Producer::Ended;
                self.state().outcome = Some(false);
                tracing::info!(%error, "git upload-pack failed");
                Err(error)
            }
        }
    }

    /// Writes the chunks that are not in the file yet, if they have at least `min_bytes`, and keeps the last
    /// `tail_bytes` in memory. If writing fails, the response continues at the pace of the slowest reader. If the
    /// reader disconnects meanwhile, the next one writes the same bytes to the same offset.
    async fn spill(&self, min_bytes: u64, tail_bytes: u64) {
        let (file, end, chunks) = {
            let state = self.state();
            if state.stage != Stage::SpillingToDisk || state.end - state.written < min_bytes {
                return;
            }
            (state.file.clone(), state.end, state.unwritten())
        };
        let directory = self.directory.clone();
        let budget = self.budget.clone();
        let write = move || {
            if !budget.has_disk_for(chunks.iter().map(|(_, chunk)| chunk.len() as u64).sum()) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let file = match file {
                Some(file) => file,
                None => Arc::new(tempfile::tempfile_in(directory)?),
            };
            for (offset, chunk) in chunks {
                file.write_all_at(&chunk, offset)?;
            }
            Ok::<_, io::Error>(file)
        };
        let written = tokio::task::spawn_blocking(write).await.map_err(io::Error::other).flatten();
        let mut state = self.state();
        match written {
            Ok(file) => state.record_spill(file, end, tail_bytes),
            Err(error) => {
                tracing::warn!(%error, "writing shared fetch response to disk failed");
                state.stage = Stage::PassThrough;
            }
        }
    }

    async fn wait_for_slowest_reader(&self) {
        while self.state().exceeds_window() {
            if tokio::time::timeout(SLOW_READER_TIMEOUT, self.reader_progress.notified()).await.is_err() {
                self.state().drop_slow_readers();
            }
        }
    }
}

/// A reader of a shared response. If the last reader is dropped before the end, git ends.
pub struct ResponseReader {
    response: Arc<SharedResponse>,
    producer: Option<OwnedMutexGuard<Producer>>,
    id: u64,
    position: u64,
}

impl ResponseReader {
    #[cfg(test)]
    pub fn response(&self) -> &Arc<SharedResponse> {
        &self.response
    }

    /// Starts git, or waits until another reader has. If the reader that is starting git disconnects, the next one
    /// takes over. Returns false if another reader failed to start it.
    pub async fn ensure_started(&mut self, start: impl Future<Output = Result<GitOutput>>) -> Result<bool> {
        let response = &self.response;
        let mut producer = match self.producer.take() {
            Some(producer) => producer,
            // A reader of a running response need not wait for the lock, which is held while a chunk is produced.
            None if response.state().is_started => return Ok(true),
            None => response.producer.clone().lock_owned().await,
        };
        if response.state().is_started {
            return Ok(true);
        }
        if response.state().outcome.is_some() {
            return Ok(false);
        }
        let started = start.await;
        match started {
            Ok(source) => {
                *producer = Producer::Running(source);
                response.state().is_started = true;
                Ok(true)
            }
            Err(error) => {
                response.state().outcome = Some(false);
                Err(error)
            }
        }
    }

    /// Returns the next chunk, or `None` at the end. Fails if the response was aborted. Calls `on_end` if this reader
    /// is the first to reach the end.
    pub async fn next(&mut self, on_end: impl Fn(&Arc<SharedResponse>)) -> io::Result<Option<Bytes>> {
        loop {
            let location = self.response.state().read_at(self.id, self.position)?;
            let part = match location {
                ChunkLocation::Memory(part) => part,
                ChunkLocation::File(file, length) => {
                    let part = read(file, self.position, length).await?;
                    self.response.state().set_position(self.id, self.position + length);
                    part
                }
                ChunkLocation::End => return Ok(None),
                ChunkLocation::NotProduced => {
                    if self.response.advance(self.position).await? {
                        on_end(&self.response);
                    }
                    continue;
                }
            };
            self.response.reader_progress.notify_one();
            self.position += part.len() as u64;
            return Ok(Some(part));
        }
    }
}

impl Drop for ResponseReader {
    fn drop(&mut self) {
        self.response.state().remove_reader(self.id);
        self.response.reader_progress.notify_one();
    }
}

async fn read(file: Arc<File>, position: u64, length: u64) -> io::Result<Bytes> {
    let read = move || {
        let mut part = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut part, position)?;
        Ok(Bytes::from(part))
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

//! The state of a shared response: its chunks, its file, and the positions of its readers.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// Maximum size of a response that is buffered in memory.
const MAX_BUFFERED_BYTES: u64 = 4 << 20;
/// Maximum memory of all responses together. Beyond it, each response counts as large.
const MAX_TOTAL_BUFFERED_BYTES: u64 = 64 << 20;
/// Number of bytes that are read from a file at a time.
const FILE_CHUNK_BYTES: u64 = 128 << 10;
/// Maximum distance between the fastest and the slowest reader of a response that is not kept.
const WINDOW_BYTES: u64 = 1 << 20;

/// The memory and disk space that all shared responses of this node use.
pub struct Budget {
    memory: AtomicU64,
    disk: AtomicU64,
    max_disk_bytes: u64,
}

impl Budget {
    pub fn new(max_disk_bytes: u64) -> Self {
        Self { memory: AtomicU64::new(0), disk: AtomicU64::new(0), max_disk_bytes }
    }

    #[cfg(test)]
    pub fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub fn disk(&self) -> u64 {
        self.disk.load(Ordering::Relaxed)
    }

    pub fn has_disk_for(&self, bytes: u64) -> bool {
        self.disk.load(Ordering::Relaxed) + bytes <= self.max_disk_bytes
    }
}

/// Where the chunks of a response are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Buffering,
    SpillingToDisk,
    /// Chunks are dropped once all readers have received them, so no other reader can join.
    PassThrough,
}

pub struct ResponseState {
    budget: Arc<Budget>,
    pub stage: Stage,
    /// Whether a reader has started git.
    pub is_started: bool,
    /// The most recent chunks, each with its offset in the response.
    chunks: VecDeque<(u64, Bytes)>,
    pub end: u64,
    pub file: Option<Arc<File>>,
    /// Number of bytes from the beginning of the response that are in the file.
    pub written: u64,
    /// Whether the response succeeded; `None` while it is in progress.
    pub outcome: Option<bool>,
    /// The position of each reader, by its id.
    readers: HashMap<u64, u64>,
    next_reader: u64,
}

/// Where the next bytes of a reader are.
pub enum ChunkLocation {
    Memory(Bytes),
    File(Arc<File>, u64),
    /// Git has not produced them yet.
    NotProduced,
    End,
}

impl ResponseState {
    pub fn new(stage: Stage, budget: Arc<Budget>) -> Self {
        Self {
            budget,
            stage,
            is_started: false,
            chunks: VecDeque::new(),
            end: 0,
            file: None,
            written: 0,
            outcome: None,
            readers: HashMap::new(),
            next_reader: 0,
        }
    }

    /// Adds a reader and returns its id. Returns `None` if the response has failed, or its beginning is not kept.
    pub fn join(&mut self) -> Option<u64> {
        let id = self.next_reader;
        if (self.stage == Stage::PassThrough && id > 0) || self.outcome == Some(false) {
            return None;
        }
        self.next_reader += 1;
        self.readers.insert(id, 0);
        Some(id)
    }

    pub fn append(&mut self, chunk: Bytes, expects_more_readers: bool) {
        let length = chunk.len() as u64;
        self.chunks.push_back((self.end, chunk));
        self.end += length;
        let total = self.budget.memory.fetch_add(length, Ordering::Relaxed) + length;
        let is_large = self.end > MAX_BUFFERED_BYTES || total > MAX_TOTAL_BUFFERED_BYTES;
        if self.stage == Stage::Buffering && is_large {
            let is_shared = self.readers.len() > 1 || expects_more_readers;
            self.stage = if is_shared { Stage::SpillingToDisk } else { Stage::PassThrough };
        }
    }

    /// Locates the bytes at a position. If they are in memory, the reader's position moves behind them.
    pub fn read_at(&mut self, reader: u64, position: u64) -> io::Result<ChunkLocation> {
        if !self.readers.contains_key(&reader) || self.outcome == Some(false) {
            return Err(aborted());
        }
        if position == self.end {
            return Ok(if self.outcome.is_some() { ChunkLocation::End } else { ChunkLocation::NotProduced });
        }
        let next_index = self.chunks.partition_point(|(begin, _)| *begin <= position);
        let found = next_index.checked_sub(1).and_then(|index| self.chunks.get(index));
        let Some((begin, chunk)) = found else {
            let file = self.file.clone().ok_or_else(aborted)?;
            return Ok(ChunkLocation::File(file, FILE_CHUNK_BYTES.min(self.written - position)));
        };
        let part = chunk.slice(usize::try_from(position - begin).map_err(io::Error::other)?..);
        self.set_position(reader, position + part.len() as u64);
        Ok(ChunkLocation::Memory(part))
    }

    pub fn set_position(&mut self, reader: u64, position: u64) {
        if let Some(current) = self.readers.get_mut(&reader) {
            *current = position;
        }
        self.trim();
    }

    pub fn remove_reader(&mut self, reader: u64) {
        self.readers.remove(&reader);
        self.trim();
    }

    /// Returns the chunks that are not in the file yet.
    pub fn unwritten(&self) -> Vec<(u64, Bytes)> {
        self.chunks.iter().filter(|(begin, _)| *begin >= self.written).cloned().collect()
    }

    /// Records that the file has the response up to `end`, and drops these chunks from memory, except for the last
    /// `tail_bytes`.
    pub fn record_spill(&mut self, file: Arc<File>, end: u64, tail_bytes: u64) {
        self.budget.disk.fetch_add(end - self.written, Ordering::Relaxed);
        self.file = Some(file);
        self.written = end;
        while self.memory_bytes() > tail_bytes && self.chunks.front().is_some_and(|(begin, _)| *begin < end) {
            self.drop_first();
        }
    }

    /// Returns whether the producer must wait for the slowest reader.
    pub fn exceeds_window(&self) -> bool {
        self.stage == Stage::PassThrough && self.end - self.slowest_position() > WINDOW_BYTES
    }

    pub fn drop_slow_readers(&mut self) {
        let min_position = self.end.saturating_sub(WINDOW_BYTES);
        self.readers.retain(|_, position| *position >= min_position);
        self.trim();
    }

    fn memory_bytes(&self) -> u64 {
        self.chunks.front().map_or(0, |(begin, _)| self.end - begin)
    }

    fn slowest_position(&self) -> u64 {
        self.readers.values().min().copied().unwrap_or(self.end)
    }

    /// Drops the chunks that all readers have received, if no other reader can join.
    fn trim(&mut self) {
        if self.stage == Stage::PassThrough {
            let slowest = self.slowest_position();
            while self.chunks.front().is_some_and(|(begin, chunk)| begin + chunk.len() as u64 <= slowest) {
                self.drop_first();
            }
        }
    }

    fn drop_first(&mut self) {
        if let Some((_, chunk)) = self.chunks.pop_front() {
            self.budget.memory.fetch_sub(chunk.len() as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for ResponseState {
    fn drop(&mut self) {
        self.budget.memory.fetch_sub(self.memory_bytes(), Ordering::Relaxed);
        self.budget.disk.fetch_sub(self.written, Ordering::Relaxed);
    }
}

pub fn aborted() -> io::Error {
    io::Error::other("the response ended early")
}

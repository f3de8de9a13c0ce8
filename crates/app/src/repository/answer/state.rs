//! What there is of an answer, and where.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// Up to here an answer is kept in memory.
const GATHERED: u64 = 4 << 20;
/// Of all answers together; beyond, each counts as large.
const GATHERED_BY_ALL: u64 = 64 << 20;
/// Read from a file at a time.
const PIECE: u64 = 128 << 10;
/// How far the first may be ahead of the last where nothing is kept.
const WINDOW: u64 = 1 << 20;

/// What all answers of this node take.
pub struct Budget {
    memory: AtomicU64,
    disk: AtomicU64,
    most_on_disk: u64,
}

impl Budget {
    pub fn new(most_on_disk: u64) -> Self {
        Self { memory: AtomicU64::new(0), disk: AtomicU64::new(0), most_on_disk }
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
        self.disk.load(Ordering::Relaxed) + bytes <= self.most_on_disk
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Gathering,
    Filing,
    /// Nothing is kept, nobody can join.
    Passing,
}

pub struct State {
    budget: Arc<Budget>,
    pub stage: Stage,
    /// Somebody started git.
    pub has_begun: bool,
    /// With where they begin; the last of what there is.
    chunks: VecDeque<(u64, Bytes)>,
    pub end: u64,
    pub file: Option<Arc<File>>,
    /// So much of the answer is in the file.
    pub written: u64,
    /// Whether it came to a good end.
    pub outcome: Option<bool>,
    /// Who reads it, and how far they are.
    readers: HashMap<u64, u64>,
    next_reader: u64,
}

/// Where something is to be found.
pub enum Place {
    Memory(Bytes),
    File(Arc<File>, u64),
    /// Not made yet.
    Ahead,
    End,
}

impl State {
    pub fn new(stage: Stage, budget: Arc<Budget>) -> Self {
        Self {
            budget,
            stage,
            has_begun: false,
            chunks: VecDeque::new(),
            end: 0,
            file: None,
            written: 0,
            outcome: None,
            readers: HashMap::new(),
            next_reader: 0,
        }
    }

    /// None if it is too late for that.
    pub fn join(&mut self) -> Option<u64> {
        let id = self.next_reader;
        if (self.stage == Stage::Passing && id > 0) || self.outcome == Some(false) {
            return None;
        }
        self.next_reader += 1;
        self.readers.insert(id, 0);
        Some(id)
    }

    pub fn append(&mut self, chunk: Bytes, expects_company: bool) {
        let length = chunk.len() as u64;
        self.chunks.push_back((self.end, chunk));
        self.end += length;
        let by_all = self.budget.memory.fetch_add(length, Ordering::Relaxed) + length;
        let is_large = self.end > GATHERED || by_all > GATHERED_BY_ALL;
        if self.stage == Stage::Gathering && is_large {
            let is_shared = self.readers.len() > 1 || expects_company;
            self.stage = if is_shared { Stage::Filing } else { Stage::Passing };
        }
    }

    /// What comes behind that, for a reader that is thereby beyond it if it is in memory.
    pub fn take(&mut self, reader: u64, position: u64) -> io::Result<Place> {
        if !self.readers.contains_key(&reader) || self.outcome == Some(false) {
            return Err(broken_off());
        }
        if position == self.end {
            return Ok(if self.outcome.is_some() { Place::End } else { Place::Ahead });
        }
        let behind = self.chunks.partition_point(|(begin, _)| *begin <= position);
        let found = behind.checked_sub(1).and_then(|place| self.chunks.get(place));
        let Some((begin, chunk)) = found else {
            let file = self.file.clone().ok_or_else(broken_off)?;
            return Ok(Place::File(file, PIECE.min(self.written - position)));
        };
        let part = chunk.slice(usize::try_from(position - begin).map_err(io::Error::other)?..);
        self.passed(reader, position + part.len() as u64);
        Ok(Place::Memory(part))
    }

    pub fn passed(&mut self, reader: u64, position: u64) {
        if let Some(known) = self.readers.get_mut(&reader) {
            *known = position;
        }
        self.trim();
    }

    pub fn leave(&mut self, reader: u64) {
        self.readers.remove(&reader);
        self.trim();
    }

    /// What is not in the file yet.
    pub fn unwritten(&self) -> Vec<(u64, Bytes)> {
        self.chunks.iter().filter(|(begin, _)| *begin >= self.written).cloned().collect()
    }

    /// What is in the file up to there need not be in memory, but for the last of it.
    pub fn filed(&mut self, file: Arc<File>, up_to: u64, keep: u64) {
        self.budget.disk.fetch_add(up_to - self.written, Ordering::Relaxed);
        self.file = Some(file);
        self.written = up_to;
        while self.memory() > keep && self.chunks.front().is_some_and(|(begin, _)| *begin < up_to) {
            self.drop_first();
        }
    }

    /// Whether the first must wait for the last.
    pub fn is_stretched(&self) -> bool {
        self.stage == Stage::Passing && self.end - self.last_reader() > WINDOW
    }

    pub fn leave_the_last_behind(&mut self) {
        let least = self.end.saturating_sub(WINDOW);
        self.readers.retain(|_, position| *position >= least);
        self.trim();
    }

    fn memory(&self) -> u64 {
        self.chunks.front().map_or(0, |(begin, _)| self.end - begin)
    }

    fn last_reader(&self) -> u64 {
        self.readers.values().min().copied().unwrap_or(self.end)
    }

    /// What everybody is beyond is forgotten, where nobody can join.
    fn trim(&mut self) {
        if self.stage == Stage::Passing {
            let last = self.last_reader();
            while self.chunks.front().is_some_and(|(begin, chunk)| begin + chunk.len() as u64 <= last) {
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

impl Drop for State {
    fn drop(&mut self) {
        self.budget.memory.fetch_sub(self.memory(), Ordering::Relaxed);
        self.budget.disk.fetch_sub(self.written, Ordering::Relaxed);
    }
}

pub fn broken_off() -> io::Error {
    io::Error::other("the answer broke off")
}

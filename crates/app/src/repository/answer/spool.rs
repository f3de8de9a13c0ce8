//! One answer and those who read it, each at its own pace. Whoever is in front brings on the next part; the others find
//! it here. While it is small it is kept whole, in memory. What is larger goes on into a file if several read it; for one
//! reader alone it is passed on and forgotten.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{Notify, OwnedMutexGuard};

use super::source::Source;
use super::state::{Budget, Place, Stage, State, broken_off};
use crate::Result;

/// Written to a file at a time, and kept in memory behind that.
const BATCH: u64 = 512 << 10;
const TAIL: u64 = 1 << 20;
/// Where nothing is kept, whoever holds the others up for so long is left behind.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Spool {
    budget: Arc<Budget>,
    /// For the file.
    directory: PathBuf,
    /// Others asked for the same while it was too late to join.
    expects_company: bool,
    /// Held by whoever brings on the next part.
    producer: Arc<tokio::sync::Mutex<Producer>>,
    state: Mutex<State>,
    /// Somebody went on, or left.
    moved: Notify,
}

enum Producer {
    New,
    Running(Source),
    Ended,
}

/// How large an answer is that could be given again, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    InMemory(u64),
    InFile(u64),
}

impl Spool {
    pub fn new(budget: &Arc<Budget>, directory: PathBuf, expects_company: bool) -> Arc<Self> {
        Self::at(Stage::Gathering, budget, directory, expects_company)
    }

    /// For one reader that nobody can join.
    pub fn alone(budget: &Arc<Budget>) -> Arc<Self> {
        Self::at(Stage::Passing, budget, PathBuf::new(), false)
    }

    fn at(stage: Stage, budget: &Arc<Budget>, directory: PathBuf, expects_company: bool) -> Arc<Self> {
        Arc::new(Self {
            budget: budget.clone(),
            directory,
            expects_company,
            producer: Arc::new(tokio::sync::Mutex::new(Producer::New)),
            state: Mutex::new(State::new(stage, budget.clone())),
            moved: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if it is too late for that.
    pub fn join(self: &Arc<Self>) -> Option<Reader> {
        let id = self.state().join()?;
        // The others may wait for what the first one has, never the other way round.
        let begins = if id == 0 { self.producer.clone().try_lock_owned().ok() } else { None };
        Some(Reader { spool: self.clone(), begins, id, position: 0 })
    }

    pub fn kept(&self) -> Option<Kept> {
        let state = self.state();
        match (state.outcome, state.stage) {
            (Some(true), Stage::Gathering) => Some(Kept::InMemory(state.end)),
            (Some(true), Stage::Filing) => Some(Kept::InFile(state.end)),
            _ => None,
        }
    }

    /// Brings on the next part, unless somebody did; true if that was the end, and a good one. Whoever does this may go
    /// at any time, and the next one goes on.
    async fn advance(&self, position: u64) -> io::Result<bool> {
        let mut producer = self.producer.lock().await;
        {
            let state = self.state();
            if state.end > position || state.outcome.is_some() {
                return Ok(false);
            }
        }
        let Producer::Running(source) = &mut *producer else { return Err(broken_off()) };
        self.wait_for_the_last().await;
        let next = source.next().await;
        match next {
            Some(Ok(chunk)) => {
                self.state().append(chunk, self.expects_company);
                self.file(BATCH, TAIL).await;
                Ok(false)
            }
            None => {
                // What is left of the source holds nothing any more: git has ended.
                self.file(1, 0).await;
                *producer = Producer::Ended;
                self.state().outcome = Some(true);
                Ok(true)
            }
            Some(Err(error)) => {
                *producer = Producer::Ended;
                self.state().outcome = Some(false);
                tracing::info!(%error, "a fetch did not end well");
                Err(error)
            }
        }
    }

    /// Writes what has come together, if that is enough. Where it cannot be written the answer goes on, at the pace of the
    /// slowest. If whoever waits for this goes, the next one writes the same to the same place.
    async fn file(&self, at_least: u64, keep: u64) {
        let (file, up_to, chunks) = {
            let state = self.state();
            if state.stage != Stage::Filing || state.end - state.written < at_least {
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
            for (begin, chunk) in chunks {
                file.write_all_at(&chunk, begin)?;
            }
            Ok::<_, io::Error>(file)
        };
        let written = tokio::task::spawn_blocking(write).await.map_err(io::Error::other).flatten();
        let mut state = self.state();
        match written {
            Ok(file) => state.filed(file, up_to, keep),
            Err(error) => {
                tracing::warn!(%error, "an answer to several is not kept");
                state.stage = Stage::Passing;
            }
        }
    }

    async fn wait_for_the_last(&self) {
        while self.state().is_stretched() {
            if tokio::time::timeout(PATIENCE, self.moved.notified()).await.is_err() {
                self.state().leave_the_last_behind();
            }
        }
    }
}

/// One that reads. When the last one is dropped before the end, git ends.
pub struct Reader {
    spool: Arc<Spool>,
    begins: Option<OwnedMutexGuard<Producer>>,
    id: u64,
    position: u64,
}

impl Reader {
    #[cfg(test)]
    pub fn spool(&self) -> &Arc<Spool> {
        &self.spool
    }

    /// The first one begins; should it leave while it waits, the next one does. False if it could not be begun for somebody
    /// else.
    pub async fn begin(&mut self, start: impl Future<Output = Result<Source>>) -> Result<bool> {
        let spool = &self.spool;
        let mut producer = match self.begins.take() {
            Some(producer) => producer,
            // Who comes later does not wait for the next part.
            None if spool.state().has_begun => return Ok(true),
            None => spool.producer.clone().lock_owned().await,
        };
        if spool.state().has_begun {
            return Ok(true);
        }
        if spool.state().outcome.is_some() {
            return Ok(false);
        }
        let started = start.await;
        match started {
            Ok(source) => {
                *producer = Producer::Running(source);
                spool.state().has_begun = true;
                Ok(true)
            }
            Err(error) => {
                spool.state().outcome = Some(false);
                Err(error)
            }
        }
    }

    /// None is the end; an answer that breaks off ends with an error. `ended` is told by whoever comes to the end first.
    pub async fn next(&mut self, ended: impl Fn(&Arc<Spool>)) -> io::Result<Option<Bytes>> {
        loop {
            let place = self.spool.state().take(self.id, self.position)?;
            let part = match place {
                Place::Memory(part) => part,
                Place::File(file, length) => {
                    let part = read(file, self.position, length).await?;
                    self.spool.state().passed(self.id, self.position + length);
                    part
                }
                Place::End => return Ok(None),
                Place::Ahead => {
                    if self.spool.advance(self.position).await? {
                        ended(&self.spool);
                    }
                    continue;
                }
            };
            self.spool.moved.notify_one();
            self.position += part.len() as u64;
            return Ok(Some(part));
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.spool.state().leave(self.id);
        self.spool.moved.notify_one();
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

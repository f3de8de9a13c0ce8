use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::Lane;
use holdfast_store::hooks::queue::{Places, Run};
use tokio::sync::Semaphore;

/// Hooks that are taken on together. Few: receivers that answer at once would otherwise have hundreds of calls stand
/// before every other request of this node. With slow ones there are as many calls under way as there are places.
pub(super) const AT_ONCE: i64 = 16;
/// How long a line is gone through before it is looked at from its beginning.
const ANEW: Duration = Duration::from_secs(1);

/// A line in which hooks wait, with this node's places in it.
pub(super) struct Line {
    pub lane: Lane,
    pub size: usize,
    pub places: Arc<Semaphore>,
    /// Who was taken on last.
    last: (DateTime<Utc>, i64),
    begun: Instant,
}

impl Line {
    pub fn new(lane: Lane, size: usize) -> Self {
        Self { lane, size, places: Arc::new(Semaphore::new(size)), last: Self::BEGINNING, begun: Instant::now() }
    }

    const BEGINNING: (DateTime<Utc>, i64) = (DateTime::UNIX_EPOCH, 0);

    pub fn room(&self) -> Places {
        let most = AT_ONCE.min(self.places.available_permits() as i64);
        Places { lane: self.lane, most, after: self.last }
    }

    /// The next look goes on behind these. At the end, and now and then, it begins anew: some may have come in before.
    /// Whether there may be more.
    pub fn taken(&mut self, runs: &[Run], room: Places) -> bool {
        let own: Vec<_> =
            runs.iter().filter(|run| run.lane == self.lane).map(|run| (run.due_at, run.hook.get())).collect();
        let is_at_end = (own.len() as i64) < room.most;
        if is_at_end || self.begun.elapsed() > ANEW {
            (self.last, self.begun) = (Self::BEGINNING, Instant::now());
        } else {
            self.last = own.into_iter().max().unwrap_or(self.last);
        }
        !is_at_end
    }
}

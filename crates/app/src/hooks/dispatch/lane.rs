//! The slots of this node for the hooks of one lane.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use holdfast_domain::hooks::Lane;
use holdfast_store::hooks::queue::{LaneRequest, LeasedHook};
use tokio::sync::Semaphore;

/// Maximum number of hooks that are leased together from one lane. It is small because receivers that respond at once
/// would otherwise put hundreds of calls before every other request of this node. With slow receivers all slots are in
/// use in any case.
pub(super) const LEASE_BATCH_SIZE: i64 = 16;
/// How long a lane is read from the cursor on before it is read from its start again.
const CURSOR_RESET_INTERVAL: Duration = Duration::from_secs(1);

/// A lane, with the slots of this node and its position in the queue.
pub(super) struct LaneSlots {
    pub lane: Lane,
    pub size: usize,
    pub permits: Arc<Semaphore>,
    /// Due time and id of the hook that was leased last.
    cursor: (DateTime<Utc>, i64),
    cursor_reset_at: Instant,
}

impl LaneSlots {
    pub fn new(lane: Lane, size: usize) -> Self {
        Self {
            lane,
            size,
            permits: Arc::new(Semaphore::new(size)),
            cursor: Self::CURSOR_START,
            cursor_reset_at: Instant::now(),
        }
    }

    const CURSOR_START: (DateTime<Utc>, i64) = (DateTime::UNIX_EPOCH, 0);

    pub fn next_request(&self) -> LaneRequest {
        let limit = LEASE_BATCH_SIZE.min(self.permits.available_permits() as i64);
        LaneRequest { lane: self.lane, limit, after: self.cursor }
    }

    /// Moves the cursor behind the leased hooks. At the end of the lane, and after [`CURSOR_RESET_INTERVAL`], it goes
    /// back to the start, because hooks may have been queued before the cursor. Returns whether more hooks may be due.
    pub fn advance_cursor(&mut self, leased: &[LeasedHook], request: LaneRequest) -> bool {
        let own: Vec<_> =
            leased.iter().filter(|run| run.lane == self.lane).map(|run| (run.due_at, run.hook.get())).collect();
        let is_at_end = (own.len() as i64) < request.limit;
        if is_at_end || self.cursor_reset_at.elapsed() > CURSOR_RESET_INTERVAL {
            (self.cursor, self.cursor_reset_at) = (Self::CURSOR_START, Instant::now());
        } else {
            self.cursor = own.into_iter().max().unwrap_or(self.cursor);
        }
        !is_at_end
    }
}

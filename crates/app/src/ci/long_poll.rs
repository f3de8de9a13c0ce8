//! Long polls of runners at this node. Two queries per second serve all waiting runners, however many there are.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_domain::ids::ProjectId;
use holdfast_store::ci::queue::{self, QueueEntry};
use holdfast_store::ci::runner::Runner;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};

use crate::{App, Result};

/// How often the build queue is polled, which is also the maximum delay before a runner is woken up.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Sequence numbers are assigned before commit, so an entry can appear after higher ones. Each poll re-reads this many
/// numbers to find late ones.
const SEQUENCE_OVERLAP: i64 = 1000;

/// The runners that are waiting at this node.
#[derive(Default)]
pub struct LongPollRegistry {
    next_id: AtomicU64,
    waiters: Mutex<HashMap<u64, WaitingRunner>>,
    /// Held by one of the waiting requests, which polls for all of them.
    poller: tokio::sync::Mutex<SeenEntries>,
}

struct WaitingRunner {
    shared: bool,
    run_untagged: bool,
    tags: Vec<String>,
    projects: HashSet<ProjectId>,
    wake: Arc<Notify>,
}

#[derive(Default)]
struct SeenEntries {
    newest: i64,
    sequences: HashSet<i64>,
}

impl WaitingRunner {
    fn accepts(&self, entry: &QueueEntry) -> bool {
        let is_mine = if self.shared { entry.is_shared } else { self.projects.contains(&entry.project) };
        is_mine && (self.run_untagged || !entry.tags.is_empty()) && entry.tags.iter().all(|tag| self.tags.contains(tag))
    }
}

/// The registration of a waiting runner, which ends when this is dropped.
pub(super) struct WaiterGuard<'a> {
    registry: &'a LongPollRegistry,
    id: u64,
    wake: Arc<Notify>,
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.registry
            .waiters
            .lock()
            .expect("mutex is never poisoned: no code panics while holding it")
            .remove(&self.id);
    }
}

impl LongPollRegistry {
    /// Registers a runner, so that new builds that it accepts wake it up.
    pub(super) fn register(&self, runner: &Runner, projects: HashSet<ProjectId>) -> WaiterGuard<'_> {
        let wake = Arc::new(Notify::new());
        let waiter = WaitingRunner {
            shared: runner.shared,
            run_untagged: runner.run_untagged,
            tags: runner.tags.clone(),
            projects,
            wake: wake.clone(),
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.waiters.lock().expect("mutex is never poisoned: no code panics while holding it").insert(id, waiter);
        WaiterGuard { registry: self, id, wake }
    }

    /// Wakes up two runners for each new entry: the second one in case the first has disconnected.
    fn notify_matching(&self, fresh: &[&QueueEntry]) {
        let waiters = self.waiters.lock().expect("mutex is never poisoned: no code panics while holding it");
        let mut notified = HashSet::new();
        for entry in fresh {
            let matching = waiters.iter().filter(|(id, waiter)| !notified.contains(*id) && waiter.accepts(entry));
            let chosen: Vec<u64> = matching.take(2).map(|(id, _)| *id).collect();
            for id in chosen {
                notified.insert(id);
                waiters[&id].wake.notify_one();
            }
        }
    }
}

/// Waits until there may be a build for this runner, until the deadline, or until shutdown. Between registering and
/// waiting the caller must try to claim a build, because earlier entries do not wake it up.
pub(super) async fn wait(app: &App, waiter: &WaiterGuard<'_>, until: Instant) -> Result<()> {
    let wakeup = async {
        tokio::select! {
            // During shutdown the queue is not polled.
            biased;
            () = app.shutdown.cancelled() => Ok(()),
            () = waiter.wake.notified() => Ok(()),
            failed = poll_queue(app) => failed,
        }
    };
    tokio::time::timeout_at(until, wakeup).await.unwrap_or(Ok(()))
}

/// Polls the queue on behalf of all waiting requests, as soon as no other request does. Returns only on error.
async fn poll_queue(app: &App) -> Result<()> {
    let mut seen = app.runner_polls.poller.lock().await;
    let mut interval = tokio::time::interval(POLL_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        let entries =
            queue::list_newer(&mut *app.database.connection().await?, seen.newest - SEQUENCE_OVERLAP, SEQUENCE_OVERLAP)
                .await?;
        let fresh: Vec<&QueueEntry> = entries.iter().filter(|it| !seen.sequences.contains(&it.sequence)).collect();
        app.runner_polls.notify_matching(&fresh);
        seen.newest = entries.first().map_or(seen.newest, |it| it.sequence.max(seen.newest));
        seen.sequences = entries.iter().map(|it| it.sequence).collect();
    }
}

//! Sends pending deliveries to the receivers of hooks.
//!
//! - Every node takes part. A hook is leased by one node at a time; if that node crashes, the lease expires and another
//!   node takes over.
//! - No database connection is held while a receiver is called.

mod batch;
mod client;
mod lane;

use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::TimeDelta;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use holdfast_domain::hooks::Lane;
use holdfast_store::commit;
use holdfast_store::hooks::queue::{self, LaneRequest, LeasedHook, PendingDelivery};
use holdfast_store::hooks::stored_event::{self, BodyKey, StoredEvent};
use moka::future::Cache;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use batch::BatchResult;
use client::{Client, system_lookup};
use lane::{LEASE_BATCH_SIZE, LaneSlots};

use super::{fan_out, stored_body};
use crate::network::AddressGuard;
use crate::{App, Error};

type Result<T, E = Error> = std::result::Result<T, E>;

/// How often the database is polled while there is nothing to do.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How often the database is polled while more hooks are due.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long to wait after an error that no receiver caused.
const ERROR_BACKOFF: Duration = Duration::from_secs(2);
/// How often the dispatcher checks whether pushes still use this node.
const YIELD_CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum number of these checks. After them, about 50 ms, the dispatcher proceeds in any case.
const MAX_YIELD_CHECKS: usize = 25;
/// Maximum number of hooks that are released in one transaction.
const RELEASE_BATCH_SIZE: usize = 256;
/// Maximum number of deliveries to a hook during one lease.
const MAX_DELIVERIES_PER_BATCH: i64 = 20;
/// The memory for cached bodies. Many hooks receive the same body.
const MAX_CACHED_BODY_BYTES: u64 = 64 << 20;
/// The slow and the failing lane each get the number of slots of the healthy lane divided by this.
const SLOW_LANE_DIVISOR: usize = 4;
/// Maximum duration of a database operation.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of attempts to record results.
const MAX_RECORD_ATTEMPTS: usize = 10;

/// The result of a batch, with its permit. The permit is released after the result has been recorded, so that a node
/// that cannot write leases no more hooks.
type CompletedBatch = (BatchResult, OwnedSemaphorePermit);

/// Leased hooks, the events that were prefetched for them, and the time of the lease.
struct LeasedBatch {
    hooks: Vec<LeasedHook>,
    events: PrefetchedEvents,
    leased_at: Instant,
}

/// Events that one statement has loaded for several deliveries.
type PrefetchedEvents = Arc<HashMap<BodyKey, StoredEvent>>;

pub(crate) struct Dispatcher {
    app: Arc<App>,
    client: Client,
    /// The cache of stored bodies; `None` for events that are older than the retention of the outbox.
    bodies: Cache<BodyKey, Option<Bytes>>,
}

impl Dispatcher {
    fn new(app: Arc<App>) -> Result<Self> {
        let settings = &app.settings.hooks;
        let client = Client::new(AddressGuard::new(&settings.allowed_networks), system_lookup(), settings.timeout)?;
        let weigh = |_: &BodyKey, body: &Option<Bytes>| {
            u32::try_from(body.as_ref().map_or(0, Bytes::len) + 100).unwrap_or(u32::MAX)
        };
        let bodies = Cache::builder().max_capacity(MAX_CACHED_BODY_BYTES).weigher(weigh).build();
        Ok(Self { app, client, bodies })
    }

    /// Loads the small events of these hooks that are not cached. One statement for all costs a fraction of one for
    /// each.
    async fn prefetch(&self, hooks: &[LeasedHook]) -> Result<PrefetchedEvents> {
        let keys = hooks.iter().flat_map(|leased| leased.deliveries.iter().map(|delivery| body_key(leased, delivery)));
        let missing: HashSet<BodyKey> = keys.filter(|key| !self.bodies.contains_key(key)).collect();
        if missing.is_empty() {
            return Ok(PrefetchedEvents::default());
        }
        let missing: Vec<_> = missing.into_iter().collect();
        let found = stored_event::find_small(&mut *self.app.database.connection().await?, &missing).await?;
        Ok(Arc::new(found.into_iter().collect()))
    }

    /// Returns the stored body, and creates and stores it first if necessary. Returns `None` if the event is older than
    /// the retention of the outbox.
    async fn body(&self, key: BodyKey, events: &PrefetchedEvents) -> Result<Option<Bytes>, Arc<Error>> {
        let loading = async {
            let event = match events.get(&key) {
                Some(event) => Some(event.clone()),
                None => stored_event::find(&mut *self.app.database.connection().await?, key).await?,
            };
            let Some(event) = event else { return Ok::<_, Error>(None) };
            Ok(Some(stored_body::find_or_create(&self.app, key, event).await?))
        };
        self.bodies.try_get_with(key, loading).await
    }

    /// Like [`Self::body`], but fails if it takes too long, as when a repository must be downloaded. The work continues
    /// in the background, and the next attempt finds the result in the cache.
    async fn body_with_timeout(
        self: &Arc<Self>,
        key: BodyKey,
        events: &PrefetchedEvents,
    ) -> Result<Option<Bytes>, String> {
        if let Some(body) = self.bodies.get(&key).await {
            return Ok(body);
        }
        let (dispatcher, events) = (self.clone(), events.clone());
        let loading = tokio::spawn(async move { dispatcher.body(key, &events).await });
        match tokio::time::timeout(self.app.settings.hooks.timeout, loading).await {
            Ok(Ok(loaded)) => loaded.map_err(|error| error.to_string()),
            Ok(Err(panicked)) => Err(panicked.to_string()),
            Err(_) => Err("creating the body took too long".into()),
        }
    }

    /// Returns how long hooks are leased. A batch begins its last delivery within one timeout. That delivery takes at
    /// most two more: one to load the body, and one until the receiver responds.
    fn lease_duration(&self) -> TimeDelta {
        let timeout = self.app.settings.hooks.timeout;
        TimeDelta::from_std(timeout * 3).unwrap_or(TimeDelta::MAX) + TimeDelta::seconds(20)
    }

    async fn lease_due(&self, requests: &[LaneRequest]) -> Result<LeasedBatch> {
        let leased_at = Instant::now();
        if requests.is_empty() {
            return Ok(LeasedBatch { hooks: Vec::new(), events: PrefetchedEvents::default(), leased_at });
        }
        let lease = (i64::from_le_bytes(self.app.entropy.bytes()), self.lease_duration());
        let now = self.app.clock.now();
        let mut transaction = self.app.database.begin().await?;
        let hooks = queue::lease_due(&mut transaction, requests, MAX_DELIVERIES_PER_BATCH, lease, now).await?;
        commit(transaction).await?;
        // If the prefetch fails, events are loaded one at a time.
        let events = self.prefetch(&hooks).await.unwrap_or_default();
        Ok(LeasedBatch { hooks, events, leased_at })
    }

    async fn release<'a>(&self, finished: impl Iterator<Item = &'a BatchResult>) -> Result<()> {
        let (attempts, releases): (Vec<_>, Vec<_>) = finished.map(|it| (it.attempts.clone(), it.release)).unzip();
        let attempts = attempts.concat();
        let mut transaction = self.app.database.begin().await?;
        queue::release(&mut transaction, &attempts, &releases, self.app.clock.now()).await?;
        Ok(commit(transaction).await?)
    }
}

fn body_key(leased: &LeasedHook, delivery: &PendingDelivery) -> BodyKey {
    let (outbox_id, created_at) = (delivery.outbox_id, delivery.created_at);
    BodyKey { outbox_id, created_at, for_project_hook: leased.receiver.is_project_hook }
}

/// Runs fan-out and dispatch until `stop` completes, then finishes the batches that are in progress.
#[crate::boxed]
pub async fn run(app: Arc<App>, stop: BoxFuture<'static, ()>) -> Result<()> {
    let dispatcher = Arc::new(Dispatcher::new(app)?);
    let stop = stop.shared();
    let (wakeup, (results, completed)) = (Notify::new(), mpsc::unbounded_channel());
    tokio::join!(
        run_fan_out(&dispatcher.app, &wakeup, stop.clone()),
        run_deliveries(&dispatcher, &wakeup, results, stop),
        record_results(&dispatcher, &wakeup, completed)
    );
    Ok(())
}

/// Fails if a database operation takes too long, as when the server has disappeared without closing the connection.
async fn with_timeout<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let elapsed = || Error::Internal("database did not respond in time".into());
    tokio::time::timeout(DATABASE_TIMEOUT, Box::pin(work)).await.unwrap_or_else(|_| Err(elapsed()))
}

/// Waits for a moment while pushes use half of the processors. Users wait for pushes, while deliveries can be late.
async fn yield_to_pushes(app: &App) {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut interval = tokio::time::interval(YIELD_CHECK_INTERVAL);
    for _ in 0..MAX_YIELD_CHECKS {
        interval.tick().await;
        if app.git_runtime.active_pushes() * 2 < processors {
            return;
        }
    }
}

async fn run_fan_out(app: &App, wakeup: &Notify, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    loop {
        yield_to_pushes(app).await;
        let delay = match with_timeout(fan_out::run_batch(app)).await {
            Ok(Some(true)) => {
                wakeup.notify_one();
                Duration::ZERO
            }
            Ok(Some(false) | None) => POLL_INTERVAL,
            Err(error) => {
                tracing::warn!(%error, "webhook fan-out failed, retrying");
                ERROR_BACKOFF
            }
        };
        if tokio::time::timeout(delay, &mut stop).await.is_ok() {
            return;
        }
    }
}

/// Leases due hooks as long as there are free slots, and sends their deliveries.
async fn run_deliveries(
    dispatcher: &Arc<Dispatcher>,
    wakeup: &Notify,
    results: UnboundedSender<CompletedBatch>,
    stop: impl Future<Output = ()>,
) {
    let mut stop = std::pin::pin!(stop);
    let concurrency = dispatcher.app.settings.hooks.concurrency;
    let slow_slots = (concurrency / SLOW_LANE_DIVISOR).max(1);
    let mut lanes = [(Lane::Healthy, concurrency), (Lane::Slow, slow_slots), (Lane::Failing, slow_slots)]
        .map(|(lane, size)| LaneSlots::new(lane, size));
    loop {
        yield_to_pushes(&dispatcher.app).await;
        let requests: Vec<LaneRequest> =
            lanes.iter().map(LaneSlots::next_request).filter(|request| request.limit > 0).collect();
        let delay = match with_timeout(dispatcher.lease_due(&requests)).await {
            Ok(LeasedBatch { hooks, events, leased_at }) => {
                let mut has_more = false;
                for request in requests {
                    for slots in lanes.iter_mut().filter(|slots| slots.lane == request.lane) {
                        has_more |= slots.advance_cursor(&hooks, request);
                    }
                }
                for leased in hooks {
                    let slots = lanes.iter().find(|slots| slots.lane == leased.lane);
                    let Some(Ok(permit)) = slots.map(|slots| slots.permits.clone().try_acquire_owned()) else {
                        continue;
                    };
                    let (dispatcher, results, events) = (dispatcher.clone(), results.clone(), events.clone());
                    tokio::spawn(async move {
                        results.send((dispatcher.deliver_batch(leased, &events, leased_at).await, permit)).ok();
                    });
                }
                if has_more { BUSY_POLL_INTERVAL } else { POLL_INTERVAL }
            }
            Err(error) => {
                tracing::warn!(%error, "webhook dispatch failed, retrying");
                ERROR_BACKOFF
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(delay, wakeup.notified()) => {}
            () = &mut stop => break,
        }
    }
    for slots in &lanes {
        slots.permits.acquire_many(slots.size as u32).await.ok();
    }
}

/// Records results and releases the hooks, in batches: results that arrive during one transaction are recorded by the
/// next.
async fn record_results(dispatcher: &Dispatcher, wakeup: &Notify, mut completed: UnboundedReceiver<CompletedBatch>) {
    let mut batch = Vec::new();
    while completed.recv_many(&mut batch, RELEASE_BATCH_SIZE).await > 0 {
        let mut retry_interval = tokio::time::interval(ERROR_BACKOFF);
        // If all attempts fail, the leases expire and the deliveries are sent again.
        for _ in 0..MAX_RECORD_ATTEMPTS {
            retry_interval.tick().await;
            match with_timeout(dispatcher.release(batch.iter().map(|(result, _)| result))).await {
                Ok(()) => break,
                Err(error) => tracing::warn!(%error, "recording webhook results failed, retrying"),
            }
        }
        batch.clear();
        wakeup.notify_one();
    }
}

/// Fans out all events, sends all deliveries that are due now, and returns.
#[crate::boxed]
pub async fn run_once(app: &Arc<App>) -> Result<()> {
    let dispatcher = Arc::new(Dispatcher::new(app.clone())?);
    while fan_out::run_batch(app).await? == Some(true) {}
    loop {
        let LeasedBatch { hooks, events, leased_at } = dispatcher
            .lease_due(&Lane::ALL.map(|lane| LaneSlots::new(lane, LEASE_BATCH_SIZE as usize).next_request()))
            .await?;
        if hooks.is_empty() {
            return Ok(());
        }
        let finished =
            join_all(hooks.into_iter().map(|leased| dispatcher.deliver_batch(leased, &events, leased_at))).await;
        dispatcher.release(finished.iter()).await?;
    }
}

/// Statistics of all hooks, for operators.
#[derive(Clone, Copy, Debug)]
pub struct HookStats {
    /// The age of the oldest pending delivery, not counting paused hooks.
    pub oldest_undelivered: Duration,
    pub failing: i64,
    pub paused: i64,
    /// The number of events that have not been fanned out yet.
    pub pending_fan_out: i64,
}

#[crate::boxed]
pub async fn stats(app: &App) -> Result<HookStats> {
    let found = queue::overview(&mut *app.database.connection().await?).await?;
    let waits = found.waiting_since.map(|since| app.clock.now() - since);
    Ok(HookStats {
        oldest_undelivered: waits.and_then(|waits| waits.to_std().ok()).unwrap_or_default(),
        failing: found.failing,
        paused: found.paused,
        pending_fan_out: found.pending_fan_out,
    })
}

//! Telling hooks what waits for them. Every node takes part: a hook is served by one node at a time, and by another when
//! that one dies. Nothing is held in the database while a receiver is called.

mod client;
mod visit;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::TimeDelta;
use futures_util::FutureExt;
use futures_util::future::join_all;
use holdfast_store::commit;
use holdfast_store::hooks::delivery;
use holdfast_store::hooks::queue::{self, Message, Places, Run};
use moka::future::Cache;
use tokio::sync::{Notify, Semaphore, mpsc};

use client::{Client, system_lookup};
use visit::Finished;

use super::{fan_out, payload};
use crate::network::Guard;
use crate::{App, Error, Result};

/// How often is looked whether there is something to do.
const EVERY: Duration = Duration::from_millis(250);
/// After something went wrong that is not a receiver's fault.
const AFTER_TROUBLE: Duration = Duration::from_secs(2);
/// Hooks that are taken on together. Few: receivers that answer at once would otherwise have hundreds of calls stand
/// before every other request of this node. With slow ones there are as many calls under way as there are places.
const AT_ONCE: i64 = 16;
/// Hooks that are given back together.
const LEFT_AT_ONCE: usize = 256;
/// Deliveries that one visit makes at the most.
const PER_VISIT: i64 = 20;
/// What is kept of bodies, since many hooks are told the same.
const BODY_BYTES: u64 = 64 << 20;
/// Of those that fail, so many times fewer are served at once: they take long.
const FAILING: usize = 4;

pub(crate) struct Sender {
    app: Arc<App>,
    client: Client,
    bodies: Cache<(i64, bool), Option<Bytes>>,
}

impl Sender {
    fn new(app: Arc<App>) -> Result<Self> {
        let settings = &app.settings.hooks;
        let client = Client::new(Guard::new(&settings.allowed_networks), system_lookup(), settings.timeout)?;
        let weigh = |_: &(i64, bool), body: &Option<Bytes>| {
            u32::try_from(body.as_ref().map_or(0, Bytes::len) + 100).unwrap_or(u32::MAX)
        };
        let bodies = Cache::builder().max_capacity(BODY_BYTES).weigher(weigh).build();
        Ok(Self { app, client, bodies })
    }

    /// None if it is no longer kept.
    async fn body(&self, message: &Message, is_of_project: bool) -> std::result::Result<Option<Bytes>, Arc<Error>> {
        let loading = async {
            let told =
                delivery::told(&mut *self.app.database.connection().await?, message.outbox_id, message.created_at)
                    .await?;
            let Some(told) = told else { return Ok(None) };
            let body = payload::body(&self.app, &told, is_of_project).await;
            Ok::<_, Error>(Some(Bytes::from(body.to_string())))
        };
        self.bodies.try_get_with((message.outbox_id, is_of_project), loading).await
    }

    fn chance(&self) -> f64 {
        f64::from(u32::from_le_bytes(self.app.entropy.bytes())) / f64::from(u32::MAX)
    }

    /// A visit begins its last call before one timeout has passed; that call ends before the second.
    fn lease(&self) -> TimeDelta {
        let timeout = self.app.settings.hooks.timeout;
        TimeDelta::from_std(timeout * 2).unwrap_or(TimeDelta::MAX) + TimeDelta::seconds(20)
    }

    async fn take(&self, places: Places) -> Result<Vec<Run>> {
        if places.well == 0 && places.failing == 0 {
            return Ok(Vec::new());
        }
        let lease = (i64::from_le_bytes(self.app.entropy.bytes()), self.lease());
        let now = self.app.clock.now();
        Ok(queue::take(&mut *self.app.database.connection().await?, places, PER_VISIT, lease, now).await?)
    }

    async fn leave(&self, finished: &[Finished]) -> Result<()> {
        let attempts: Vec<_> = finished.iter().flat_map(|it| it.attempts.iter().cloned()).collect();
        let left: Vec<_> = finished.iter().map(|it| it.left).collect();
        let mut transaction = self.app.database.begin().await?;
        queue::leave(&mut transaction, &attempts, &left, self.app.clock.now()).await?;
        Ok(commit(transaction).await?)
    }
}

/// Until `stop` is fulfilled; what was begun is finished.
pub async fn run(app: Arc<App>, stop: impl Future<Output = ()> + Send) -> Result<()> {
    let concurrency = app.settings.hooks.concurrency;
    let sender = Arc::new(Sender::new(app)?);
    let (stop, handed_over) = (stop.shared(), Notify::new());
    let handing_over = hand_over(&sender.app, &handed_over, stop.clone());
    let serving = serve(&sender, concurrency, &handed_over, stop);
    tokio::join!(handing_over, serving);
    Ok(())
}

async fn hand_over(app: &App, handed_over: &Notify, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    loop {
        let pause = match fan_out::portion(app).await {
            Ok(Some(true)) => {
                handed_over.notify_one();
                Duration::ZERO
            }
            Ok(Some(false) | None) => EVERY,
            Err(error) => {
                tracing::warn!(%error, "what happened is not handed to hooks for now");
                AFTER_TROUBLE
            }
        };
        if tokio::time::timeout(pause, &mut stop).await.is_ok() {
            return;
        }
    }
}

async fn serve(sender: &Arc<Sender>, concurrency: usize, handed_over: &Notify, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let well = Arc::new(Semaphore::new(concurrency));
    let failing = Arc::new(Semaphore::new((concurrency / FAILING).max(1)));
    let (done, mut finished) = mpsc::channel::<Finished>(concurrency * 2);
    let mut batch = Vec::new();
    let mut is_stopping = false;
    loop {
        let room = |lane: &Semaphore| if is_stopping { 0 } else { AT_ONCE.min(lane.available_permits() as i64) };
        let taken = sender.take(Places { well: room(&well), failing: room(&failing) }).await;
        let mut pause = EVERY;
        match taken {
            Ok(runs) => {
                for run in runs {
                    let lane = if run.trouble.failing_since.is_none() { &well } else { &failing };
                    let Ok(place) = lane.clone().try_acquire_owned() else { continue };
                    let (sender, done) = (sender.clone(), done.clone());
                    tokio::spawn(async move {
                        let finished = sender.visit(run).await;
                        drop(place);
                        done.send(finished).await.ok();
                    });
                }
            }
            Err(error) => {
                tracing::warn!(%error, "hooks are not served for now");
                pause = AFTER_TROUBLE;
            }
        }
        let is_idle = well.available_permits() == concurrency
            && failing.available_permits() == (concurrency / FAILING).max(1)
            && finished.is_empty();
        if is_stopping && is_idle {
            return;
        }
        let wait = async {
            tokio::select! {
                _ = tokio::time::timeout(pause, handed_over.notified()) => {}
                count = finished.recv_many(&mut batch, LEFT_AT_ONCE) => debug_assert!(count > 0),
            }
        };
        if is_stopping {
            wait.await;
        } else {
            tokio::select! {
                () = wait => {}
                () = &mut stop => is_stopping = true,
            }
        }
        if !batch.is_empty() {
            // What is not written down is done again when the lease ends.
            if let Err(error) = sender.leave(&batch).await {
                tracing::warn!(%error, "what hooks were told is not written down");
            }
            batch.clear();
        }
    }
}

/// Hands over what happened and tells it to whoever is due now, and returns.
pub async fn settle(app: &Arc<App>) -> Result<()> {
    let sender = Sender::new(app.clone())?;
    while fan_out::portion(app).await? == Some(true) {}
    loop {
        let runs = sender.take(Places { well: AT_ONCE, failing: AT_ONCE }).await?;
        if runs.is_empty() {
            return Ok(());
        }
        sender.leave(&join_all(runs.into_iter().map(|run| sender.visit(run))).await).await?;
    }
}

/// How all hooks fare, for operators.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    /// How long the oldest delivery waits, but for hooks that are paused.
    pub oldest_undelivered: Duration,
    pub failing: i64,
    pub paused: i64,
    /// What happened and was handed to nobody yet.
    pub events_waiting: i64,
}

pub async fn overview(app: &App) -> Result<Overview> {
    let found = queue::overview(&mut *app.database.connection().await?).await?;
    let waits = found.waiting_since.map(|since| app.clock.now() - since);
    Ok(Overview {
        oldest_undelivered: waits.and_then(|waits| waits.to_std().ok()).unwrap_or_default(),
        failing: found.failing,
        paused: found.paused,
        events_waiting: found.not_handed_over,
    })
}

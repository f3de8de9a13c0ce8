//! Telling hooks what waits for them. Every node takes part: a hook is served by one node at a time, and by another when
//! that one dies. Nothing is held in the database while a receiver is called.

mod client;
mod line;
mod visit;

use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::TimeDelta;
use futures_util::FutureExt;
use futures_util::future::join_all;
use holdfast_domain::hooks::Lane;
use holdfast_store::commit;
use holdfast_store::hooks::queue::{self, Message, Places, Run};
use holdfast_store::hooks::stored_event::{self, BodyKey, StoredEvent};
use moka::future::Cache;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use client::{Client, system_lookup};
use line::{AT_ONCE, Line};
use visit::Finished;

use super::{body, fan_out};
use crate::network::Guard;
use crate::{App, Error};

type Result<T, E = Error> = std::result::Result<T, E>;

/// How often is looked whether there is something to do.
const EVERY: Duration = Duration::from_millis(250);
/// While there is.
const SOON: Duration = Duration::from_millis(5);
/// After something went wrong that is not a receiver's fault.
const AFTER_TROUBLE: Duration = Duration::from_secs(2);
/// How long hooks stand back for pushes: so many looks, each after so long.
const LOOKS: Duration = Duration::from_millis(2);
const MOST_LOOKS: usize = 25;
/// Hooks that are given back together.
const LEFT_AT_ONCE: usize = 256;
/// Deliveries that one visit makes at the most.
const PER_VISIT: i64 = 20;
/// The memory that is used for bodies, since many hooks are sent the same one.
const MAX_CACHED_BODY_BYTES: u64 = 64 << 20;
/// Of those that take long or fail, so many times fewer are served at once.
const SLOW: usize = 4;
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Tries to write down what was done.
const WRITTEN_AT_MOST: usize = 10;

/// What was done, with the place that is free once that is written down: who cannot write takes nothing more on.
type Done = (Finished, OwnedSemaphorePermit);

/// Hooks that were taken on, the events that were loaded for them, and when that was.
struct Taken {
    runs: Vec<Run>,
    events: Prefetched,
    begun: Instant,
}

/// Events that were loaded together.
type Prefetched = Arc<HashMap<BodyKey, StoredEvent>>;

pub(crate) struct Sender {
    app: Arc<App>,
    client: Client,
    /// Bodies that are stored in the database; None for events that are older than the retention of the outbox.
    bodies: Cache<BodyKey, Option<Bytes>>,
}

impl Sender {
    fn new(app: Arc<App>) -> Result<Self> {
        let settings = &app.settings.hooks;
        let client = Client::new(Guard::new(&settings.allowed_networks), system_lookup(), settings.timeout)?;
        let weigh = |_: &BodyKey, body: &Option<Bytes>| {
            u32::try_from(body.as_ref().map_or(0, Bytes::len) + 100).unwrap_or(u32::MAX)
        };
        let bodies = Cache::builder().max_capacity(MAX_CACHED_BODY_BYTES).weigher(weigh).build();
        Ok(Self { app, client, bodies })
    }

    /// Loads the small events of these hooks that are not cached. One statement for all costs a fraction of one for each.
    async fn prefetch(&self, runs: &[Run]) -> Result<Prefetched> {
        let keys = runs.iter().flat_map(|run| run.messages.iter().map(|message| body_key(run, message)));
        let missing: HashSet<BodyKey> = keys.filter(|key| !self.bodies.contains_key(key)).collect();
        if missing.is_empty() {
            return Ok(Prefetched::default());
        }
        let missing: Vec<_> = missing.into_iter().collect();
        let found = stored_event::find_small(&mut *self.app.database.connection().await?, &missing).await?;
        Ok(Arc::new(found.into_iter().collect()))
    }

    /// Returns the stored body, which is made and stored first where that is needed. Returns None if the event is older
    /// than the retention of the outbox.
    async fn body(&self, key: BodyKey, events: &Prefetched) -> Result<Option<Bytes>, Arc<Error>> {
        let loading = async {
            let event = match events.get(&key) {
                Some(event) => Some(event.clone()),
                None => stored_event::find(&mut *self.app.database.connection().await?, key).await?,
            };
            let Some(event) = event else { return Ok::<_, Error>(None) };
            Ok(Some(body::find_or_create(&self.app, key, event).await?))
        };
        self.bodies.try_get_with(key, loading).await
    }

    /// Like [`Self::body`], but fails if it takes too long, as when a repository is downloaded for it. The work then goes on
    /// in the background, and its result is there at the next attempt.
    async fn body_with_timeout(self: &Arc<Self>, key: BodyKey, events: &Prefetched) -> Result<Option<Bytes>, String> {
        if let Some(body) = self.bodies.get(&key).await {
            return Ok(body);
        }
        let (sender, events) = (self.clone(), events.clone());
        let loading = tokio::spawn(async move { sender.body(key, &events).await });
        match tokio::time::timeout(self.app.settings.hooks.timeout, loading).await {
            Ok(Ok(loaded)) => loaded.map_err(|error| error.to_string()),
            Ok(Err(panicked)) => Err(panicked.to_string()),
            Err(_) => Err("making the body takes too long".into()),
        }
    }

    /// A visit begins with its last delivery before one timeout has passed. That takes two more at the most: one until it
    /// is known what to send, one until it is answered.
    fn lease(&self) -> TimeDelta {
        let timeout = self.app.settings.hooks.timeout;
        TimeDelta::from_std(timeout * 3).unwrap_or(TimeDelta::MAX) + TimeDelta::seconds(20)
    }

    async fn take(&self, places: &[Places]) -> Result<Taken> {
        let begun = Instant::now();
        if places.is_empty() {
            return Ok(Taken { runs: Vec::new(), events: Prefetched::default(), begun });
        }
        let lease = (i64::from_le_bytes(self.app.entropy.bytes()), self.lease());
        let now = self.app.clock.now();
        let mut transaction = self.app.database.begin().await?;
        let runs = queue::take(&mut transaction, places, PER_VISIT, lease, now).await?;
        commit(transaction).await?;
        // Events that are missing after a failure here are loaded one at a time.
        let events = self.prefetch(&runs).await.unwrap_or_default();
        Ok(Taken { runs, events, begun })
    }

    async fn leave<'a>(&self, finished: impl Iterator<Item = &'a Finished>) -> Result<()> {
        let (attempts, left): (Vec<_>, Vec<_>) = finished.map(|it| (it.attempts.clone(), it.left)).unzip();
        let attempts = attempts.concat();
        let mut transaction = self.app.database.begin().await?;
        queue::leave(&mut transaction, &attempts, &left, self.app.clock.now()).await?;
        Ok(commit(transaction).await?)
    }
}

fn body_key(run: &Run, message: &Message) -> BodyKey {
    let (outbox_id, created_at) = (message.outbox_id, message.created_at);
    BodyKey { outbox_id, created_at, for_project_hook: run.receiver.is_of_project }
}

/// Until `stop` is fulfilled; what was begun is finished.
pub async fn run(app: Arc<App>, stop: impl Future<Output = ()> + Send) -> Result<()> {
    let sender = Arc::new(Sender::new(app)?);
    let stop = stop.shared();
    let (news, (done, finished)) = (Notify::new(), mpsc::unbounded_channel());
    tokio::join!(
        hand_over(&sender.app, &news, stop.clone()),
        serve(&sender, &news, done, stop),
        write_down(&sender, &news, finished)
    );
    Ok(())
}

/// A database that is gone without a word is waited for no longer than this.
async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let elapsed = || Error::Internal("the database does not answer".into());
    tokio::time::timeout(LONGEST_WAIT, Box::pin(work)).await.unwrap_or_else(|_| Err(elapsed()))
}

/// People wait for pushes, and nobody waits for hooks: while pushes take half of this machine, hooks come a moment later.
async fn stand_back(app: &App) {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut looks = tokio::time::interval(LOOKS);
    for _ in 0..MOST_LOOKS {
        looks.tick().await;
        if app.engine.pushes_under_way() * 2 < processors {
            return;
        }
    }
}

async fn hand_over(app: &App, news: &Notify, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    loop {
        stand_back(app).await;
        let pause = match in_time(fan_out::portion(app)).await {
            Ok(Some(true)) => {
                news.notify_one();
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

/// Takes hooks on as long as there are places.
async fn serve(sender: &Arc<Sender>, news: &Notify, done: UnboundedSender<Done>, stop: impl Future<Output = ()>) {
    let mut stop = std::pin::pin!(stop);
    let concurrency = sender.app.settings.hooks.concurrency;
    let slow = (concurrency / SLOW).max(1);
    let mut lines = [(Lane::Well, concurrency), (Lane::Slow, slow), (Lane::Failing, slow)]
        .map(|(lane, size)| Line::new(lane, size));
    loop {
        stand_back(&sender.app).await;
        let room: Vec<Places> = lines.iter().map(Line::room).filter(|room| room.most > 0).collect();
        let pause = match in_time(sender.take(&room)).await {
            Ok(Taken { runs, events, begun }) => {
                let mut there_is_more = false;
                for room in room {
                    for line in lines.iter_mut().filter(|line| line.lane == room.lane) {
                        there_is_more |= line.taken(&runs, room);
                    }
                }
                for run in runs {
                    let line = lines.iter().find(|line| line.lane == run.lane);
                    let Some(Ok(place)) = line.map(|line| line.places.clone().try_acquire_owned()) else { continue };
                    let (sender, done, events) = (sender.clone(), done.clone(), events.clone());
                    tokio::spawn(async move {
                        done.send((sender.visit(run, &events, begun).await, place)).ok();
                    });
                }
                if there_is_more { SOON } else { EVERY }
            }
            Err(error) => {
                tracing::warn!(%error, "hooks are not served for now");
                AFTER_TROUBLE
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(pause, news.notified()) => {}
            () = &mut stop => break,
        }
    }
    for line in &lines {
        line.places.acquire_many(line.size as u32).await.ok();
    }
}

/// Writes down what was done, of many together: while that takes its time, others finish.
async fn write_down(sender: &Sender, news: &Notify, mut finished: UnboundedReceiver<Done>) {
    let mut batch = Vec::new();
    while finished.recv_many(&mut batch, LEFT_AT_ONCE).await > 0 {
        let mut again = tokio::time::interval(AFTER_TROUBLE);
        // What is not written down when the leases end is done again.
        for _ in 0..WRITTEN_AT_MOST {
            again.tick().await;
            match in_time(sender.leave(batch.iter().map(|(finished, _)| finished))).await {
                Ok(()) => break,
                Err(error) => tracing::warn!(%error, "what hooks were told is not written down yet"),
            }
        }
        batch.clear();
        news.notify_one();
    }
}

/// Hands over what happened and tells it to whoever is due now, and returns.
pub async fn settle(app: &Arc<App>) -> Result<()> {
    let sender = Arc::new(Sender::new(app.clone())?);
    while fan_out::portion(app).await? == Some(true) {}
    loop {
        let Taken { runs, events, begun } =
            sender.take(&Lane::ALL.map(|lane| Line::new(lane, AT_ONCE as usize).room())).await?;
        if runs.is_empty() {
            return Ok(());
        }
        let finished = join_all(runs.into_iter().map(|run| sender.visit(run, &events, begun))).await;
        sender.leave(finished.iter()).await?;
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

//! Runners that wait for work at this node. Two looks a second at what has come are enough for all of them, however many
//! wait.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_domain::ids::ProjectId;
use holdfast_store::ci::queue::{self, Entered};
use holdfast_store::ci::runner::Runner;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};

use crate::{App, Result};

/// How late it is noticed that something came.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What comes late was numbered early: so far back it is looked for.
const LOOK_BACK: i64 = 1000;

#[derive(Default)]
pub struct Waiting {
    next: AtomicU64,
    places: Mutex<HashMap<u64, Place>>,
    /// One of those who wait looks for all.
    looking: tokio::sync::Mutex<Seen>,
    closed: std::sync::atomic::AtomicBool,
    closing: Notify,
}

struct Place {
    shared: bool,
    run_untagged: bool,
    tags: Vec<String>,
    projects: HashSet<ProjectId>,
    called: Arc<Notify>,
}

#[derive(Default)]
struct Seen {
    newest: i64,
    numbers: HashSet<i64>,
}

impl Place {
    fn takes(&self, it: &Entered) -> bool {
        let is_mine = if self.shared { it.shared } else { self.projects.contains(&it.project) };
        is_mine && (self.run_untagged || !it.tags.is_empty()) && it.tags.iter().all(|tag| self.tags.contains(tag))
    }
}

/// A place, which is given up however the wait ends.
pub(super) struct Seat<'a> {
    waiting: &'a Waiting,
    number: u64,
    called: Arc<Notify>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.waiting.places.lock().expect("nothing panics while holding it").remove(&self.number);
    }
}

impl Waiting {
    pub(super) fn sit(&self, runner: &Runner, projects: HashSet<ProjectId>) -> Seat<'_> {
        let called = Arc::new(Notify::new());
        let place = Place {
            shared: runner.shared,
            run_untagged: runner.run_untagged,
            tags: runner.tags.clone(),
            projects,
            called: called.clone(),
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.places.lock().expect("nothing panics while holding it").insert(number, place);
        Seat { waiting: self, number, called }
    }

    /// One runner for each, and one more in case the first has gone.
    fn call(&self, fresh: &[&Entered]) {
        let places = self.places.lock().expect("nothing panics while holding it");
        let mut called = HashSet::new();
        for it in fresh {
            let fit = places.iter().filter(|(number, place)| !called.contains(*number) && place.takes(it));
            let chosen: Vec<u64> = fit.take(2).map(|(number, _)| *number).collect();
            for number in chosen {
                called.insert(number);
                places[&number].called.notify_one();
            }
        }
    }

    /// From now on nobody waits: the node stops.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.closing.notify_waiters();
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Until there may be something for who sits there, or until that time. Whoever sits down looks for work once more before
/// waiting.
pub(super) async fn wait(app: &App, seat: &Seat<'_>, until: Instant) -> Result<()> {
    let closing = app.waiting.closing.notified();
    if app.waiting.is_closed() {
        return Ok(());
    }
    let call = async {
        tokio::select! {
            () = seat.called.notified() => Ok(()),
            () = closing => Ok(()),
            failed = look(app) => failed,
        }
    };
    tokio::time::timeout_at(until, call).await.unwrap_or(Ok(()))
}

/// Looks while nobody else does. It ends only by failing.
async fn look(app: &App) -> Result<()> {
    let mut seen = app.waiting.looking.lock().await;
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let entered =
            queue::entered(&mut *app.database.connection().await?, seen.newest - LOOK_BACK, LOOK_BACK).await?;
        let fresh: Vec<&Entered> = entered.iter().filter(|it| !seen.numbers.contains(&it.number)).collect();
        app.waiting.call(&fresh);
        seen.newest = entered.first().map_or(seen.newest, |it| it.number.max(seen.newest));
        seen.numbers = entered.iter().map(|it| it.number).collect();
    }
}

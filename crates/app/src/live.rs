//! What the viewers of pages at this node watch. One statement per second reads all of it, however many viewers there
//! are.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use holdfast_store::live::read_states;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

pub use holdfast_store::live::Watch;

use crate::{App, Result};

/// How often the states are read, which is also the maximum delay of an update.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The things that are watched at this node.
#[derive(Default)]
pub struct LiveRegistry {
    watched: Mutex<HashMap<Watch, Watched>>,
    /// Held by one of the watchers, which polls for all of them. The value is the time of the last poll.
    poller: tokio::sync::Mutex<Option<Instant>>,
}

struct Watched {
    watchers: usize,
    /// The state at the last poll. It is `None` before the first poll, and after the thing was deleted.
    state: watch::Sender<Option<String>>,
}

/// The registration of a watcher, which ends when this is dropped. It authorizes nothing: whoever watches has to call a
/// use case to read what has changed.
pub struct Watcher<'a> {
    registry: &'a LiveRegistry,
    watch: Watch,
    state: watch::Receiver<Option<String>>,
}

impl LiveRegistry {
    /// Begins to watch something.
    pub fn watch(&self, watch: Watch) -> Watcher<'_> {
        let mut watched = self.watched.lock().expect("mutex is never poisoned: no code panics while holding it");
        let entry = watched.entry(watch).or_insert_with(|| Watched { watchers: 0, state: watch::Sender::new(None) });
        entry.watchers += 1;
        let mut state = entry.state.subscribe();
        // The state may have changed after the watcher read the thing, and before it is registered here.
        state.mark_changed();
        Watcher { registry: self, watch, state }
    }

    /// Reads the states of everything that is watched, and wakes up the watchers of what has changed.
    async fn poll(&self, app: &App) -> Result<()> {
        let watched: Vec<Watch> = {
            let watched = self.watched.lock().expect("mutex is never poisoned: no code panics while holding it");
            watched.keys().copied().collect()
        };
        let mut states = read_states(&mut *app.database.connection().await?, &watched).await?;
        let entries = self.watched.lock().expect("mutex is never poisoned: no code panics while holding it");
        for watch in watched {
            let state = states.remove(&watch);
            if let Some(entry) = entries.get(&watch) {
                entry.state.send_if_modified(|old| {
                    let has_changed = *old != state;
                    *old = state;
                    has_changed
                });
            }
        }
        Ok(())
    }
}

impl Watcher<'_> {
    /// Waits until the watched thing may have changed since the last call. The first call returns at once, because the
    /// thing may have changed before it was watched.
    pub async fn changed(&mut self, app: &App) {
        tokio::select! {
            // A watcher with a new state does not begin to poll.
            biased;
            // The sender lives as long as the registration.
            _ = self.state.changed() => {}
            () = poll_for_all(app) => {}
        }
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        let mut watched =
            self.registry.watched.lock().expect("mutex is never poisoned: no code panics while holding it");
        if let Some(entry) = watched.get_mut(&self.watch) {
            entry.watchers -= 1;
            if entry.watchers == 0 {
                watched.remove(&self.watch);
            }
        }
    }
}

/// Polls on behalf of all watchers, as soon as no other watcher does. Never returns.
async fn poll_for_all(app: &App) {
    let mut last_poll = app.live.poller.lock().await;
    loop {
        if let Some(last) = *last_poll {
            sleep_until(last + POLL_INTERVAL).await;
        }
        *last_poll = Some(Instant::now());
        if let Err(error) = app.live.poll(app).await {
            tracing::warn!(%error, "reading what viewers watch failed, retrying");
        }
    }
}

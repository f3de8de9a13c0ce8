//! Streams of events (server-sent events) that keep a page up to date.
//!
//! A handler registers what its page shows with [`respond`], and a [`LiveSource`] that renders what has changed. The
//! node reads all that is watched once a second, in one statement (`holdfast_app::live`).
//!
//! - A stream ends after ten minutes, at the shutdown of the node, or when the viewer may not see the page any more. The
//!   browser then opens another one, at any node: it sends the id of the last event that it got.
//! - The session and the permission are checked when a stream is opened, with every event, and every 60 seconds.
//! - The number of streams is limited, for each client and in total.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use holdfast_app::client::KeyedPermit;
use holdfast_app::live::Watch;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::errors::PageError;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::session;

const MAX_DURATION: Duration = Duration::from_secs(600);
/// How often the session and the permission of a viewer are checked if nothing happens.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Proxies close connections on which nothing is sent for a while.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The first line of a stream: the browser waits one second before it opens another one.
const RETRY: &str = "retry: 1000\n\n";

/// An event of a stream. The script `live.js` knows these names:
///
/// - `part` and `state`: HTML. Each of its outer elements replaces the element of the page with the same id.
/// - `chunk`: HTML that is appended to the trace.
/// - `end`: nothing will change any more, and the browser closes the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: &'static str,
    /// The position from which another stream continues. It contains no line break.
    pub id: Option<String>,
    pub data: String,
}

impl Event {
    pub fn new(name: &'static str, data: impl Into<String>) -> Self {
        Self { name, id: None, data: data.into() }
    }

    /// Formats the event as a part of the stream.
    fn to_text(&self) -> String {
        let mut text = format!("event: {}\n", self.name);
        if let Some(id) = &self.id {
            writeln!(text, "id: {id}").ok();
        }
        // A carriage return ends a line of the stream, too.
        for line in self.data.split(['\n', '\r']) {
            writeln!(text, "data: {line}").ok();
        }
        text.push('\n');
        text
    }
}

/// What is sent at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    pub events: Vec<Event>,
    /// Whether the source has more to send at once.
    pub has_more: bool,
    /// Whether nothing will change any more.
    pub is_over: bool,
}

/// The content of a stream.
pub trait LiveSource: Send + Sync + 'static {
    /// Returns what has changed since the last call. It calls a use case with the actor of the context, so that the
    /// permission is checked. The first call is made before the response begins.
    fn update(&mut self, context: &RequestContext) -> impl Future<Output = Result<Update, PageError>> + Send;
}

/// Responds with a stream that sends the updates of a source whenever the watched thing changes. A browser that opens
/// the address as a page is redirected to `page`.
pub async fn respond(context: RequestContext, watch: Watch, page: String, mut source: impl LiveSource) -> PageResult {
    let first = source.update(&context).await?;
    if !context.info.accepts_events {
        return Ok(respond::see_other(page));
    }
    let permit = context.context.live_permits.try_acquire(context.actor.client()).ok_or(PageError::Busy)?;
    // One update waits in memory while the client reads the one before it.
    let (sender, mut receiver) = mpsc::channel(1);
    let now = Instant::now();
    let (end, check_at) = (now + MAX_DURATION, now + CHECK_INTERVAL);
    let stream = Stream { context, watch, source, sender, end, check_at, _permit: permit };
    tokio::spawn(stream.run(first));
    let body = stream::poll_fn(move |task| receiver.poll_recv(task).map(|part| part.map(Ok::<Bytes, Infallible>)));
    Ok(respond::complete(event_stream(Body::from_stream(body))))
}

fn event_stream(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // nginx would otherwise hold the events back.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

/// An open stream. It runs as a task of its own, so that a client that does not read does not delay the others.
struct Stream<S> {
    context: RequestContext,
    watch: Watch,
    source: S,
    sender: mpsc::Sender<Bytes>,
    end: Instant,
    /// When the session is read again.
    check_at: Instant,
    _permit: KeyedPermit,
}

/// Why a stream does something.
enum Wakeup {
    /// The watched thing has changed, or the viewer is checked.
    Update,
    KeepAlive,
    End,
}

impl<S: LiveSource> Stream<S> {
    async fn run(mut self, first: Update) {
        let app = self.context.context.app.clone();
        let mut watcher = app.live.watch(self.watch);
        let mut keep_alive_at = Instant::now() + KEEP_ALIVE_INTERVAL;
        if self.send(RETRY.to_owned()).await.is_none() || self.send_all(first).await.is_none() {
            return;
        }
        loop {
            let wakeup = tokio::select! {
                biased;
                () = app.shutdown.cancelled() => Wakeup::End,
                () = self.sender.closed() => Wakeup::End,
                () = sleep_until(self.end) => Wakeup::End,
                () = sleep_until(self.check_at) => Wakeup::Update,
                () = sleep_until(keep_alive_at) => Wakeup::KeepAlive,
                () = watcher.changed(&app) => Wakeup::Update,
            };
            let sent = match wakeup {
                Wakeup::End => None,
                Wakeup::KeepAlive => self.send(":\n\n".to_owned()).await,
                Wakeup::Update => self.update().await,
            };
            if sent.is_none() {
                return;
            }
            keep_alive_at = Instant::now() + KEEP_ALIVE_INTERVAL;
        }
    }

    /// Reads the session again and sends what has changed. Returns None if the stream has ended.
    async fn update(&mut self) -> Option<()> {
        self.authenticate().await?;
        let update = self.source.update(&self.context).await.ok()?;
        self.send_all(update).await
    }

    /// Sends an update and all that follow it at once. They can be many, so the end of the stream and the session are
    /// checked between them.
    async fn send_all(&mut self, mut update: Update) -> Option<()> {
        loop {
            let text: String = update.events.iter().map(Event::to_text).collect();
            if !text.is_empty() {
                self.send(text).await?;
            }
            match update {
                Update { is_over: true, .. } => {
                    self.send(Event::new("end", "").to_text()).await?;
                    return None;
                }
                Update { has_more: true, .. } => {
                    let now = Instant::now();
                    if now >= self.end || self.context.app().shutdown.is_cancelled() {
                        return None;
                    }
                    if now >= self.check_at {
                        self.authenticate().await?;
                    }
                    update = self.source.update(&self.context).await.ok()?;
                }
                Update { .. } => return Some(()),
            }
        }
    }

    /// Sends a text. A client that does not read does not delay the end of the stream.
    async fn send(&self, text: String) -> Option<()> {
        tokio::select! {
            biased;
            () = self.context.app().shutdown.cancelled() => None,
            () = sleep_until(self.end) => None,
            sent = self.sender.send(Bytes::from(text)) => sent.ok(),
        }
    }

    /// Reads the session again. Returns None if it has ended.
    async fn authenticate(&mut self) -> Option<()> {
        self.check_at = Instant::now() + CHECK_INTERVAL;
        let secret = self.context.session_secret().map(str::to_owned);
        let address = self.context.info.address;
        let viewer = session::authenticate(self.context.app(), secret, None, address).await.ok()?;
        if viewer.has_stale_cookie {
            return None;
        }
        self.context.actor = viewer.actor;
        self.context.session = viewer.session;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_formatted_line_by_line() {
        let event = Event { id: Some("12-3".to_owned()), ..Event::new("chunk", "<b>a</b>\nb\rc") };
        assert_eq!(event.to_text(), "event: chunk\nid: 12-3\ndata: <b>a</b>\ndata: b\ndata: c\n\n");
        assert_eq!(Event::new("end", "").to_text(), "event: end\ndata: \n\n");
    }
}

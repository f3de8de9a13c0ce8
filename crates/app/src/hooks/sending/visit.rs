//! Being at one hook: it is told what waits for it, one after the other, until one fails.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt, stream};
use holdfast_domain::hooks::{Failure, Next, Trouble};
use holdfast_store::hooks::delivery;
use holdfast_store::hooks::queue::{Attempt, Left, Message, Run};
use serde_json::{Map, Value, json};
use url::Url;

use super::client::{Answer, Called};
use super::{Prefetched, Sender, body_key};
use crate::Error;
use crate::hooks::request::{Request, hide, secrets};
use crate::hooks::token;

/// What is to be written down afterwards.
pub(super) struct Finished {
    pub attempts: Vec<Attempt>,
    pub left: Left,
}

/// Bodies that are loaded or made while the delivery before them is under way: each of a new event waits for the disk of
/// the database.
const BODIES_AHEAD: usize = 4;
/// Of those behind one that fails for days, so many are tried at a time.
const PROBES: usize = 10;
/// When something of ours is at fault.
const OWN_TROUBLE: TimeDelta = TimeDelta::seconds(5);
/// A visit of many calls is over soon if each is quicker than this.
const QUICK_MS: i32 = 100;
const LONGEST_HEADERS: usize = 4096;
const UNREADABLE_TOKEN: &str = "The server could not decrypt the token of this hook. Set the token again, or ask an administrator to check secrets.key.";

/// The token of a hook, if it has one and it could be decrypted.
type Token<'a> = std::result::Result<Option<&'a str>, &'a Error>;

impl Sender {
    pub(super) async fn visit(self: &Arc<Self>, run: Run, events: &Prefetched, begun: Instant) -> Finished {
        let mut visit =
            Visit { trouble: run.trouble, reached: None, due_at: self.app.clock.now(), probes: 0, slowest: 0 };
        let opened = token::open(&self.app, run.hook, &run.receiver.token);
        if let Err(error) = &opened {
            tracing::warn!(hook = %run.hook, %error, "hook token cannot be decrypted");
        }
        let token: Token<'_> = opened.as_ref().map(Option::as_deref);
        let mut attempts = Vec::new();
        let keys: Vec<_> = run.messages.iter().map(|message| body_key(&run, message)).collect();
        let load = stream::iter(keys).map(|key| self.body_with_timeout(key, events));
        let mut bodies = load.buffered(BODIES_AHEAD);
        for message in &run.messages {
            // Longer than this nobody relies on it that we are alive.
            if begun.elapsed() >= self.app.settings.hooks.timeout {
                break;
            }
            let Some(body) = bodies.next().await else { break };
            let (attempt, is_over) = match body {
                Ok(Some(body)) => {
                    let (attempt, failure) = self.attempt(&run, token, message, body).await;
                    visit.slowest = visit.slowest.max(attempt.duration_ms.unwrap_or_default());
                    let is_over = visit.attempted(message, failure, self.app.clock.now(), self.app.random_fraction());
                    (attempt, is_over)
                }
                Ok(None) => {
                    visit.go_on_after(message, self.app.clock.now());
                    (self.lost(&run, message), false)
                }
                Err(error) => {
                    tracing::warn!(hook = %run.hook, error, "a hook cannot be told for now");
                    visit.due_at = self.app.clock.now() + OWN_TROUBLE;
                    visit.slowest = i32::try_from(begun.elapsed().as_millis()).unwrap_or(i32::MAX);
                    break;
                }
            };
            let was_quick = attempt.duration_ms.is_none_or(|took| took < QUICK_MS);
            attempts.push(attempt);
            // A slow one is written down before the next, and whatever was changed meanwhile holds for the next. But a probe
            // that ends with the first would be no more than that.
            if is_over || !was_quick && visit.probes == 0 {
                break;
            }
        }
        self.report(&run, &visit.trouble, attempts.last());
        let left = Left {
            hook: run.hook,
            lease: run.lease,
            reached: visit.reached,
            found_nothing: run.messages.is_empty(),
            lane: visit.trouble.lane(TimeDelta::milliseconds(visit.slowest.into())),
            trouble: visit.trouble,
            due_at: visit.due_at,
        };
        Finished { attempts, left }
    }

    /// What came of it, and why it failed if it did.
    async fn attempt(&self, run: &Run, token: Token<'_>, message: &Message, body: Bytes) -> (Attempt, Option<Failure>) {
        let receiver = &run.receiver;
        let id = delivery::id(&receiver.public_id, message.original);
        let request = Request::new(receiver, &message.kind, id, message.sequence);
        let at = self.app.clock.now();
        let called = match (request.url(), token) {
            (Some(url), Ok(token)) => {
                let headers = request.headers(token, &body, at);
                self.client.post(url, receiver.verify_certificate, headers, body).await
            }
            (Some(_), Err(_)) => Called { answer: Err(UNREADABLE_TOKEN.into()), took: None },
            (None, _) => Called { answer: Err("This is no address".into()), took: None },
        };
        let secrets = secrets(receiver, token.ok().flatten());
        let (status, error, response) = match &called.answer {
            Ok(answer) => (Some(answer.status as i16), refusal(answer), Some(kept(answer, &secrets))),
            Err(error) => (None, Some(kept_text(error.as_bytes(), &secrets)), None),
        };
        let failure = match &called.answer {
            Ok(answer) if is_success(answer) => None,
            Ok(answer) => Some(Failure::Answered(answer.status)),
            Err(_) => Some(Failure::Unreachable),
        };
        let outcome = if failure.is_none() { "delivered" } else { "failed" };
        metrics::counter!("holdfast_hook_deliveries_total", "outcome" => outcome).increment(1);
        if let Some(took) = called.took {
            metrics::histogram!("holdfast_hook_delivery_seconds").record(took);
        }
        let duration_ms = called.took.map(|took| i32::try_from(took.as_millis()).unwrap_or(i32::MAX));
        let (hook, sequence, created_at) = (run.hook, message.sequence, message.created_at);
        let delivered = failure.is_none();
        (Attempt { hook, sequence, created_at, at, duration_ms, delivered, status, error, response }, failure)
    }

    /// For operators: when a hook begins to fail, is paused, and is well again. Not its whole address, which may hold a secret.
    fn report(&self, run: &Run, now: &Trouble, last: Option<&Attempt>) {
        let (hook, before) = (run.hook, &run.trouble);
        let host = Url::parse(&run.receiver.url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
        let error = last.and_then(|attempt| attempt.error.as_deref());
        match (before.failing_since, now.failing_since) {
            (None, Some(_)) => tracing::info!(%hook, host, error, "a hook fails"),
            (Some(since), None) => tracing::info!(%hook, host, %since, "a hook that failed is well again"),
            _ => {}
        }
        if before.paused_at.is_none() && now.paused_at.is_some() {
            tracing::warn!(%hook, host, error, "a hook is paused: it fails for days");
        }
    }

    /// Of one that nobody can tell any more.
    fn lost(&self, run: &Run, message: &Message) -> Attempt {
        Attempt {
            hook: run.hook,
            sequence: message.sequence,
            created_at: message.created_at,
            at: self.app.clock.now(),
            duration_ms: None,
            delivered: false,
            status: None,
            error: Some("What happened then is no longer kept".into()),
            response: None,
        }
    }
}

/// How a hook fares while somebody is at it.
struct Visit {
    trouble: Trouble,
    reached: Option<(i64, DateTime<Utc>)>,
    due_at: DateTime<Utc>,
    probes: usize,
    /// What its receiver took for a call, in milliseconds.
    slowest: i32,
}

impl Visit {
    fn go_on_after(&mut self, message: &Message, now: DateTime<Utc>) {
        self.reached = Some((message.sequence, message.created_at));
        self.due_at = now;
    }

    /// Whether it is over.
    fn attempted(&mut self, message: &Message, failure: Option<Failure>, now: DateTime<Utc>, chance: f64) -> bool {
        let Some(failure) = failure else {
            self.trouble = Trouble::default();
            self.go_on_after(message, now);
            return false;
        };
        match self.trouble.failed(failure, now, chance) {
            Next::GiveUp => {
                self.go_on_after(message, now);
                false
            }
            Next::Again(delay) => {
                self.due_at = now + delay;
                true
            }
            Next::Probe(delay) => {
                self.due_at = now + delay;
                self.probes += 1;
                self.probes == PROBES
            }
        }
    }
}

fn is_success(answer: &Answer) -> bool {
    (200..300).contains(&answer.status)
}

fn refusal(answer: &Answer) -> Option<String> {
    match answer.status {
        200..300 => None,
        300..400 => Some(format!("The receiver answered {}: redirects are not followed", answer.status)),
        status => Some(format!("The receiver answered {status}")),
    }
}

/// PostgreSQL keeps no zero bytes.
fn kept_text(bytes: &[u8], secrets: &[String]) -> String {
    hide(&String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"), secrets)
}

/// What people are shown of an answer.
fn kept(answer: &Answer, secrets: &[String]) -> Value {
    let mut headers = Map::new();
    let mut length = 0;
    for (name, value) in &answer.headers {
        length += name.as_str().len() + value.len();
        if length > LONGEST_HEADERS {
            break;
        }
        let is_secret = name == "set-cookie" || name == "authorization" || value.is_sensitive();
        let value = if is_secret { "[hidden]".into() } else { kept_text(value.as_bytes(), secrets) };
        headers.insert(name.as_str().to_owned(), value.into());
    }
    json!({ "headers": headers, "body": kept_text(&answer.body, secrets) })
}

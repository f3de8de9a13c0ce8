//! Sends a batch of deliveries to one hook, in sequence order, until one fails.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt, stream};
use holdfast_domain::hooks::{Failure, RetryDecision, RetryState};
use holdfast_store::hooks::delivery;
use holdfast_store::hooks::queue::{Attempt, HookRelease, LeasedHook, PendingDelivery};
use serde_json::{Map, Value, json};
use url::Url;

use super::client::{CallResult, ReceiverResponse};
use super::{Dispatcher, PrefetchedEvents, body_key};
use crate::Error;
use crate::hooks::request::{Request, secrets};
use crate::hooks::token;
use crate::redaction::redact;

/// The results of a batch, to be recorded in the database.
pub(super) struct BatchResult {
    pub attempts: Vec<Attempt>,
    pub release: HookRelease,
}

/// Number of bodies that are loaded or created while earlier deliveries are in progress. Creating a body waits for a
/// commit of the database.
const BODY_READ_AHEAD: usize = 4;
/// Maximum number of failed deliveries in one probe of a paused hook.
const MAX_PROBES: usize = 10;
/// How long to wait after an error of this server.
const INTERNAL_ERROR_BACKOFF: TimeDelta = TimeDelta::seconds(5);
/// A batch continues only while responses take less than this, so that it ends soon even with many deliveries.
const QUICK_THRESHOLD_MS: i32 = 100;
const MAX_HEADER_BYTES: usize = 4096;
const UNREADABLE_TOKEN: &str = "The server could not decrypt the token of this hook. Set the token again, or ask an administrator to check encryption.key.";

/// The token of a hook, if it has one and it could be decrypted.
type Token<'a> = std::result::Result<Option<&'a str>, &'a Error>;

impl Dispatcher {
    pub(super) async fn deliver_batch(
        self: &Arc<Self>,
        leased: LeasedHook,
        events: &PrefetchedEvents,
        leased_at: Instant,
    ) -> BatchResult {
        let mut batch = DeliveryBatch {
            retry_state: leased.retry_state,
            processed_through: None,
            due_at: self.app.clock.now(),
            probes: 0,
            slowest_ms: 0,
        };
        let decrypted = token::decrypt(&self.app, leased.hook, &leased.receiver.token);
        if let Err(error) = &decrypted {
            tracing::warn!(hook = %leased.hook, %error, "decrypting webhook token failed");
        }
        let token: Token<'_> = decrypted.as_ref().map(Option::as_deref);
        let mut attempts = Vec::new();
        let keys: Vec<_> = leased.deliveries.iter().map(|delivery| body_key(&leased, delivery)).collect();
        let load = stream::iter(keys).map(|key| self.body_with_timeout(key, events));
        let mut bodies = load.buffered(BODY_READ_AHEAD);
        for delivery in &leased.deliveries {
            // Another delivery could outlast the lease.
            if leased_at.elapsed() >= self.app.settings.hooks.timeout {
                break;
            }
            let Some(body) = bodies.next().await else { break };
            let (attempt, is_over) = match body {
                Ok(Some(body)) => {
                    let (attempt, failure) = self.attempt(&leased, token, delivery, body).await;
                    batch.slowest_ms = batch.slowest_ms.max(attempt.duration_ms.unwrap_or_default());
                    let is_over =
                        batch.record_attempt(delivery, failure, self.app.clock.now(), self.app.random_fraction());
                    (attempt, is_over)
                }
                Ok(None) => {
                    batch.advance_past(delivery, self.app.clock.now());
                    (self.expired_attempt(&leased, delivery), false)
                }
                Err(error) => {
                    tracing::warn!(hook = %leased.hook, error, "loading webhook body failed, retrying");
                    batch.due_at = self.app.clock.now() + INTERNAL_ERROR_BACKOFF;
                    batch.slowest_ms = i32::try_from(leased_at.elapsed().as_millis()).unwrap_or(i32::MAX);
                    break;
                }
            };
            let is_quick = attempt.duration_ms.is_none_or(|took| took < QUICK_THRESHOLD_MS);
            attempts.push(attempt);
            // A slow delivery is recorded before the next one is sent, and the next batch uses the current attributes
            // of the hook. A probe continues, because it must try more than the first delivery.
            if is_over || !is_quick && batch.probes == 0 {
                break;
            }
        }
        self.report(&leased, &batch.retry_state, attempts.last());
        let release = HookRelease {
            hook: leased.hook,
            lease_id: leased.lease_id,
            processed_through: batch.processed_through,
            has_no_deliveries: leased.deliveries.is_empty(),
            lane: batch.retry_state.lane(TimeDelta::milliseconds(batch.slowest_ms.into())),
            retry_state: batch.retry_state,
            due_at: batch.due_at,
        };
        BatchResult { attempts, release }
    }

    /// Makes one attempt. Returns its record, and the reason if it failed.
    async fn attempt(
        &self,
        leased: &LeasedHook,
        token: Token<'_>,
        delivery: &PendingDelivery,
        body: Bytes,
    ) -> (Attempt, Option<Failure>) {
        let receiver = &leased.receiver;
        let id = delivery::id(&receiver.public_id, delivery.original_sequence);
        let request = Request::new(receiver, &delivery.kind, id, delivery.sequence);
        let attempted_at = self.app.clock.now();
        let call = match (request.url(), token) {
            (Some(url), Ok(token)) => {
                let headers = request.headers(token, &body, attempted_at);
                self.client.post(url, receiver.verify_certificate, headers, body).await
            }
            (Some(_), Err(_)) => CallResult { response: Err(UNREADABLE_TOKEN.into()), duration: None },
            (None, _) => {
                CallResult { response: Err("The URL of this hook is invalid. Change it.".into()), duration: None }
            }
        };
        let secrets = secrets(receiver, token.ok().flatten());
        let (status, error, response) = match &call.response {
            Ok(response) => {
                (Some(response.status as i16), error_text(response), Some(response_record(response, &secrets)))
            }
            Err(error) => (None, Some(sanitized_text(error.as_bytes(), &secrets)), None),
        };
        let failure = match &call.response {
            Ok(response) if is_success(response) => None,
            Ok(response) => Some(Failure::Status(response.status)),
            Err(_) => Some(Failure::Unreachable),
        };
        let outcome = if failure.is_none() { "delivered" } else { "failed" };
        metrics::counter!("holdfast_hook_deliveries_total", "outcome" => outcome).increment(1);
        if let Some(duration) = call.duration {
            metrics::histogram!("holdfast_hook_delivery_seconds").record(duration);
        }
        let duration_ms = call.duration.map(|duration| i32::try_from(duration.as_millis()).unwrap_or(i32::MAX));
        let (hook, sequence, created_at) = (leased.hook, delivery.sequence, delivery.created_at);
        let delivered = failure.is_none();
        (
            Attempt {
                hook,
                sequence,
                created_at,
                attempted_at,
                duration_ms,
                is_delivered: delivered,
                status,
                error,
                response,
            },
            failure,
        )
    }

    /// Logs when a hook begins to fail, is paused and recovers. Logs the host only, because the URL may contain a
    /// secret.
    fn report(&self, leased: &LeasedHook, current: &RetryState, last: Option<&Attempt>) {
        let (hook, before) = (leased.hook, &leased.retry_state);
        let host = Url::parse(&leased.receiver.url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
        let error = last.and_then(|attempt| attempt.error.as_deref());
        match (before.failing_since, current.failing_since) {
            (None, Some(_)) => tracing::info!(%hook, host, error, "webhook delivery failing"),
            (Some(since), None) => tracing::info!(%hook, host, %since, "webhook recovered"),
            _ => {}
        }
        if before.paused_at.is_none() && current.paused_at.is_some() {
            tracing::warn!(%hook, host, error, "webhook paused after repeated failures");
        }
    }

    /// Returns the record of a delivery whose event has been deleted after its retention period.
    fn expired_attempt(&self, leased: &LeasedHook, delivery: &PendingDelivery) -> Attempt {
        Attempt {
            hook: leased.hook,
            sequence: delivery.sequence,
            created_at: delivery.created_at,
            attempted_at: self.app.clock.now(),
            duration_ms: None,
            is_delivered: false,
            status: None,
            error: Some("The event has been deleted after its retention period".into()),
            response: None,
        }
    }
}

/// The state of a hook during a batch.
struct DeliveryBatch {
    retry_state: RetryState,
    /// The last delivery that was delivered, parked or expired: its sequence number, and the time of its event.
    processed_through: Option<(i64, DateTime<Utc>)>,
    due_at: DateTime<Utc>,
    probes: usize,
    /// The longest response time in this batch, in milliseconds.
    slowest_ms: i32,
}

impl DeliveryBatch {
    fn advance_past(&mut self, delivery: &PendingDelivery, now: DateTime<Utc>) {
        self.processed_through = Some((delivery.sequence, delivery.created_at));
        self.due_at = now;
    }

    /// Updates the state after an attempt. Returns whether the batch ends.
    fn record_attempt(
        &mut self,
        delivery: &PendingDelivery,
        failure: Option<Failure>,
        now: DateTime<Utc>,
        jitter: f64,
    ) -> bool {
        let Some(failure) = failure else {
            self.retry_state = RetryState::default();
            self.advance_past(delivery, now);
            return false;
        };
        match self.retry_state.record_failure(failure, now, jitter) {
            RetryDecision::Park => {
                self.advance_past(delivery, now);
                false
            }
            RetryDecision::RetryAfter(delay) => {
                self.due_at = now + delay;
                true
            }
            RetryDecision::Probe(delay) => {
                self.due_at = now + delay;
                self.probes += 1;
                self.probes == MAX_PROBES
            }
        }
    }
}

fn is_success(response: &ReceiverResponse) -> bool {
    (200..300).contains(&response.status)
}

fn error_text(response: &ReceiverResponse) -> Option<String> {
    match response.status {
        200..300 => None,
        300..400 => Some(format!("The receiver responded with {}; redirects are not followed", response.status)),
        status => Some(format!("The receiver responded with {status}")),
    }
}

/// Converts bytes to text and redacts secrets. Zero bytes are replaced, because PostgreSQL cannot store them.
fn sanitized_text(bytes: &[u8], secrets: &[String]) -> String {
    redact(&String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"), secrets)
}

/// Returns the part of a response that is stored and shown.
fn response_record(response: &ReceiverResponse, secrets: &[String]) -> Value {
    let mut headers = Map::new();
    let mut length = 0;
    for (name, value) in &response.headers {
        length += name.as_str().len() + value.len();
        if length > MAX_HEADER_BYTES {
            break;
        }
        let is_secret = name == "set-cookie" || name == "authorization" || value.is_sensitive();
        let value = if is_secret { "[hidden]".into() } else { sanitized_text(value.as_bytes(), secrets) };
        headers.insert(name.as_str().to_owned(), value.into());
    }
    json!({ "headers": headers, "body": sanitized_text(&response.body, secrets) })
}

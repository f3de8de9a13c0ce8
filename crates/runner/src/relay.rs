//! Stands between the crate `gitlab-runner` and the server, on an address of this machine.
//!
//! The crate gives its handlers a part of the job only: no repository, no time limit, no caches, not even which
//! variables are files. The relay keeps the whole job and hands the crate what it needs. It also mends what the crate
//! leaves to luck: a request that fails is sent again, a trace goes on where the server says it stopped, a long piece is
//! cut, and the last word carries the reason of a failure.

use std::collections::HashMap;
use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{patch, post, put};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::payload::Payload;
use crate::server::Server;

/// The most that a server takes in one piece of a trace is a mebibyte.
const PIECE: usize = 512 << 10;

/// How long a server may be away before a piece of a trace, or the end of a build, is given up.
const PATIENCE: Duration = Duration::from_secs(600);

const JOB_STATUS: &str = "Job-Status";
const UPDATE_INTERVAL: &str = "X-GitLab-Trace-Update-Interval";

#[derive(Debug)]
pub struct Relay {
    server: Server,
    tickets: Mutex<HashMap<u64, Arc<Ticket>>>,
    /// How often in a row the server did not know the runner.
    refusals: AtomicUsize,
    stopped: CancellationToken,
}

/// One build, from the moment it was taken.
#[derive(Debug)]
pub struct Ticket {
    pub token: String,
    /// Or why it cannot be understood.
    pub payload: Result<Payload, String>,
    verdict: Mutex<Option<Verdict>>,
    /// How much of the trace the server has.
    sent: tokio::sync::Mutex<u64>,
}

/// Why a build failed.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    pub reason: &'static str,
    pub exit_code: Option<i32>,
}

impl Ticket {
    fn new(job: Value) -> Option<(u64, Ticket)> {
        let id = job["id"].as_u64()?;
        let token = job["token"].as_str()?.to_owned();
        let payload = serde_json::from_value(job).map_err(|error| error.to_string());
        Some((id, Ticket { token, payload, verdict: Mutex::default(), sent: tokio::sync::Mutex::default() }))
    }

    pub fn judge(&self, verdict: Verdict) {
        *lock(&self.verdict) = Some(verdict);
    }
}

impl Relay {
    /// Answers the address to give to the crate. Others on this machine cannot guess it.
    pub async fn start(server: Server, stopped: CancellationToken) -> anyhow::Result<(Arc<Relay>, Url)> {
        let relay = Arc::new(Relay { server, tickets: Mutex::default(), refusals: AtomicUsize::default(), stopped });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port of this machine is free")?;
        let secret = hex::encode(rand::random::<[u8; 16]>());
        let url = Url::parse(&format!("http://{}/{secret}", listener.local_addr()?))?;
        let routes = Router::new()
            .route("/api/v4/jobs/request", post(request))
            .route("/api/v4/jobs/{id}", put(update))
            .route("/api/v4/jobs/{id}/trace", patch(trace))
            .layer(DefaultBodyLimit::disable())
            .with_state(relay.clone());
        let router = Router::new().nest(&format!("/{secret}"), routes);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((relay, url))
    }

    pub fn ticket(&self, id: u64) -> Option<Arc<Ticket>> {
        lock(&self.tickets).get(&id).cloned()
    }

    pub fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }

    fn forget(&self, id: u64) {
        lock(&self.tickets).remove(&id);
    }

    /// Until the server answers something final, or nobody wants to wait any longer.
    async fn insist<F: Future<Output = reqwest::Result<reqwest::Response>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> Option<reqwest::Response> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(250);
        loop {
            match ask().await {
                // 202 to the last word of a build means that the server is not ready for it; 429 says so itself.
                Ok(answer) if !answer.status().is_server_error() && !matches!(answer.status().as_u16(), 408 | 429) => {
                    return Some(answer);
                }
                Ok(answer) => tracing::warn!(status = %answer.status(), "the server is not well; trying again"),
                Err(error) => tracing::warn!(%error, "the server cannot be reached; trying again"),
            }
            let is_stopped = tokio::time::timeout(pause, self.stopped.cancelled()).await.is_ok();
            if is_stopped || Instant::now() > deadline {
                return None;
            }
            pause = (pause * 2).min(Duration::from_secs(10));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn request(State(relay): State<Arc<Relay>>, body: Bytes) -> Response {
    let url = relay.server.url("jobs/request");
    let asked = relay.server.client.post(url).header("Content-Type", "application/json").body(body).send().await;
    let answer = match asked {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!(%error, "the server cannot be reached");
            return StatusCode::BAD_GATEWAY.into_response();
        }
    };
    let status = answer.status();
    if status == StatusCode::FORBIDDEN {
        relay.refusals.fetch_add(1, Ordering::Relaxed);
        return status.into_response();
    }
    relay.refusals.store(0, Ordering::Relaxed);
    match status {
        StatusCode::CREATED => {}
        // Another runner was quicker.
        StatusCode::CONFLICT => return StatusCode::NO_CONTENT.into_response(),
        _ => return status.into_response(),
    }
    let ticket = answer.json().await.ok().and_then(Ticket::new);
    let Some((id, ticket)) = ticket else {
        tracing::error!("the server gave a build that cannot be understood; it will wait for this runner in vain");
        return StatusCode::BAD_GATEWAY.into_response();
    };
    // All that a build does is one step to the crate.
    let step = json!({"name": "script", "script": [], "timeout": 3600, "when": "on_success", "allow_failure": false});
    let job = json!({
        "id": id, "token": ticket.token, "allow_git_fetch": false, "variables": [], "steps": [step],
        "dependencies": null, "artifacts": null,
    });
    lock(&relay.tickets).insert(id, Arc::new(ticket));
    (StatusCode::CREATED, axum::Json(job)).into_response()
}

/// The crate knows one way to be told that a build is over.
fn cancelled(relay: &Relay, id: u64) -> Response {
    relay.forget(id);
    (StatusCode::FORBIDDEN, [(JOB_STATUS, "canceled")]).into_response()
}

fn is_over(answer: &reqwest::Response) -> bool {
    let status = answer.headers().get(JOB_STATUS).and_then(|it| it.to_str().ok());
    matches!(answer.status(), StatusCode::FORBIDDEN | StatusCode::NOT_FOUND)
        || matches!(status, Some("canceled" | "canceling" | "failed"))
}

async fn trace(State(relay): State<Arc<Relay>>, Path(id): Path<u64>, mut rest: Bytes) -> Response {
    let Some(ticket) = relay.ticket(id) else { return cancelled(&relay, id) };
    let url = relay.server.url(&format!("jobs/{id}/trace"));
    let mut sent = ticket.sent.lock().await;
    let mut headers = HeaderMap::new();
    let mut corrections = 0;
    while !rest.is_empty() {
        let piece = rest.slice(..rest.len().min(PIECE));
        let range = format!("{}-{}", *sent, *sent + piece.len() as u64 - 1);
        let send = || {
            let request = relay.server.client.patch(url.clone()).header("JOB-TOKEN", &ticket.token);
            let request = request.header("Content-Range", &range).header("Content-Type", "text/plain");
            request.body(piece.clone()).send()
        };
        let Some(answer) = relay.insist(send).await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        if is_over(&answer) {
            return cancelled(&relay, id);
        }
        if let Some(seconds) = answer.headers().get(UPDATE_INTERVAL)
            && seconds.to_str().is_ok_and(|it| it.parse().is_ok_and(|it: u64| it > 0))
        {
            headers.insert(UPDATE_INTERVAL, seconds.clone());
        }
        match answer.status() {
            StatusCode::ACCEPTED => {
                *sent += piece.len() as u64;
                rest = rest.slice(piece.len()..);
            }
            StatusCode::RANGE_NOT_SATISFIABLE if corrections < 3 => {
                corrections += 1;
                let Some(stored) = stored(&answer) else { return answer.status().into_response() };
                // An answer got lost: the server has this piece, or some of it.
                let known = stored.checked_sub(*sent).and_then(|it| usize::try_from(it).ok());
                rest = rest.slice(known.filter(|it| *it <= piece.len()).unwrap_or(0)..);
                *sent = stored;
            }
            status => return status.into_response(),
        }
    }
    (StatusCode::ACCEPTED, headers).into_response()
}

/// `Range: 0-<length>`
fn stored(answer: &reqwest::Response) -> Option<u64> {
    answer.headers().get("Range")?.to_str().ok()?.split_once('-')?.1.parse().ok()
}

async fn update(State(relay): State<Arc<Relay>>, Path(id): Path<u64>, body: Bytes) -> Response {
    let (Some(ticket), Ok(mut body)) = (relay.ticket(id), serde_json::from_slice::<Value>(&body)) else {
        return cancelled(&relay, id);
    };
    let is_last = body["state"] != "running";
    if body["state"] == "failed" {
        let verdict = *lock(&ticket.verdict);
        body["failure_reason"] = json!(verdict.map_or("runner_system_failure", |it| it.reason));
        if let Some(code) = verdict.and_then(|it| it.exit_code) {
            body["exit_code"] = json!(code);
        }
    }
    let url = relay.server.url(&format!("jobs/{id}"));
    let send = || async {
        let answer = relay.server.client.put(url.clone()).json(&body).send().await?;
        // Not yet.
        if is_last && answer.status() == StatusCode::ACCEPTED {
            let again = axum::http::Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).body("");
            return Ok(again.unwrap_or_default().into());
        }
        Ok(answer)
    };
    // A sign of life is sent again anyway.
    let answer = if is_last { relay.insist(send).await } else { send().await.ok() };
    match answer {
        Some(answer) if !is_last && is_over(&answer) => cancelled(&relay, id),
        Some(answer) => {
            if is_last {
                relay.forget(id);
                if !answer.status().is_success() {
                    tracing::warn!(build = id, status = %answer.status(), "the server did not take the build's end");
                }
            }
            answer.status().into_response()
        }
        None => {
            if is_last {
                relay.forget(id);
                tracing::error!(build = id, "the server never learned how the build ended");
            }
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

//! An HTTP proxy on the loopback interface between the crate `gitlab-runner` and the server.
//!
//! The crate passes only a part of the payload to its job handlers: no repository, no time limit, no caches and no
//! types of variables. The proxy keeps the whole payload and gives the crate a job with a single step. It also makes
//! the protocol more robust: it retries failed requests, resumes the trace at the offset that the server reports,
//! splits large trace updates, and adds the failure reason to the final status update.

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

/// Maximum size of one trace update. The server accepts up to 1 MiB.
const CHUNK_SIZE: usize = 512 << 10;

/// How long a trace update or the result of a build is retried while the server is unavailable.
const RETRY_TIMEOUT: Duration = Duration::from_secs(600);

const JOB_STATUS: &str = "Job-Status";
const UPDATE_INTERVAL: &str = "X-GitLab-Trace-Update-Interval";

/// The proxy, with the jobs that are running.
#[derive(Debug)]
pub struct LocalProxy {
    server: Server,
    jobs: Mutex<HashMap<u64, Arc<JobState>>>,
    /// Number of consecutive requests that the server rejected because it does not know the runner.
    rejection_count: AtomicUsize,
    stopped: CancellationToken,
}

/// The state of one build from the claim to its final status update.
#[derive(Debug)]
pub struct JobState {
    pub token: String,
    /// The payload, or the error of parsing it.
    pub payload: Result<Payload, String>,
    failure: Mutex<Option<FailureReport>>,
    /// Number of trace bytes that the server has stored.
    sent_bytes: tokio::sync::Mutex<u64>,
}

/// The failure reason and exit code that the final status update contains.
#[derive(Clone, Copy, Debug)]
pub struct FailureReport {
    pub reason: &'static str,
    pub exit_code: Option<i32>,
}

impl JobState {
    fn new(job: Value) -> Option<(u64, JobState)> {
        let id = job["id"].as_u64()?;
        let token = job["token"].as_str()?.to_owned();
        let payload = serde_json::from_value(job).map_err(|error| error.to_string());
        Some((id, JobState { token, payload, failure: Mutex::default(), sent_bytes: tokio::sync::Mutex::default() }))
    }

    pub fn set_failure(&self, failure: FailureReport) {
        *lock(&self.failure) = Some(failure);
    }
}

impl LocalProxy {
    /// Starts the proxy and returns it with its URL for the crate. The URL contains a random secret, so that other
    /// users of this machine cannot send requests.
    pub async fn start(server: Server, stopped: CancellationToken) -> anyhow::Result<(Arc<LocalProxy>, Url)> {
        let proxy =
            Arc::new(LocalProxy { server, jobs: Mutex::default(), rejection_count: AtomicUsize::default(), stopped });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port on 127.0.0.1")?;
        let secret = hex::encode(rand::random::<[u8; 16]>());
        let url = Url::parse(&format!("http://{}/{secret}", listener.local_addr()?))?;
        let routes = Router::new()
            .route("/api/v4/jobs/request", post(request))
            .route("/api/v4/jobs/{id}", put(update))
            .route("/api/v4/jobs/{id}/trace", patch(trace))
            .layer(DefaultBodyLimit::disable())
            .with_state(proxy.clone());
        let router = Router::new().nest(&format!("/{secret}"), routes);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((proxy, url))
    }

    pub fn find_job(&self, id: u64) -> Option<Arc<JobState>> {
        lock(&self.jobs).get(&id).cloned()
    }

    pub fn rejection_count(&self) -> usize {
        self.rejection_count.load(Ordering::Relaxed)
    }

    fn remove_job(&self, id: u64) {
        lock(&self.jobs).remove(&id);
    }

    /// Sends a request with exponential backoff until the response is final. Returns `None` after [`RETRY_TIMEOUT`] or
    /// when the runner is stopped.
    async fn send_with_retries<F: Future<Output = reqwest::Result<reqwest::Response>>>(
        &self,
        send: impl Fn() -> F,
    ) -> Option<reqwest::Response> {
        let deadline = Instant::now() + RETRY_TIMEOUT;
        let mut backoff = Duration::from_millis(250);
        loop {
            match send().await {
                // Request timeouts (408) and rate limits (429) are temporary, like errors of the server.
                Ok(response)
                    if !response.status().is_server_error() && !matches!(response.status().as_u16(), 408 | 429) =>
                {
                    return Some(response);
                }
                Ok(answer) => tracing::warn!(status = %answer.status(), "server error, retrying"),
                Err(error) => tracing::warn!(%error, "connecting to the server failed, retrying"),
            }
            let is_stopped = tokio::time::timeout(backoff, self.stopped.cancelled()).await.is_ok();
            if is_stopped || Instant::now() > deadline {
                return None;
            }
            backoff = (backoff * 2).min(Duration::from_secs(10));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn request(State(proxy): State<Arc<LocalProxy>>, body: Bytes) -> Response {
    let url = proxy.server.url("jobs/request");
    let result = proxy.server.client.post(url).header("Content-Type", "application/json").body(body).send().await;
    let response = match result {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!(%error, "connecting to the server failed");
            return StatusCode::BAD_GATEWAY.into_response();
        }
    };
    let status = response.status();
    if status == StatusCode::FORBIDDEN {
        proxy.rejection_count.fetch_add(1, Ordering::Relaxed);
        return status.into_response();
    }
    proxy.rejection_count.store(0, Ordering::Relaxed);
    match status {
        StatusCode::CREATED => {}
        // Another runner claimed the build first.
        StatusCode::CONFLICT => return StatusCode::NO_CONTENT.into_response(),
        _ => return status.into_response(),
    }
    let job_state = response.json().await.ok().and_then(JobState::new);
    let Some((id, job_state)) = job_state else {
        tracing::error!(
            "parsing the job response failed; the server fails the build when its runner heartbeat times out"
        );
        return StatusCode::BAD_GATEWAY.into_response();
    };
    // The crate sees the whole build as one step, which `Build` executes.
    let step = json!({"name": "script", "script": [], "timeout": 3600, "when": "on_success", "allow_failure": false});
    let job = json!({
        "id": id, "token": job_state.token, "allow_git_fetch": false, "variables": [], "steps": [step],
        "dependencies": null, "artifacts": null,
    });
    lock(&proxy.jobs).insert(id, Arc::new(job_state));
    (StatusCode::CREATED, axum::Json(job)).into_response()
}

/// Removes a job and returns the only response by which the crate recognizes that a build has ended on the server.
fn canceled_response(proxy: &LocalProxy, id: u64) -> Response {
    proxy.remove_job(id);
    (StatusCode::FORBIDDEN, [(JOB_STATUS, "canceled")]).into_response()
}

fn is_job_finished(response: &reqwest::Response) -> bool {
    let status = response.headers().get(JOB_STATUS).and_then(|it| it.to_str().ok());
    matches!(response.status(), StatusCode::FORBIDDEN | StatusCode::NOT_FOUND)
        || matches!(status, Some("canceled" | "canceling" | "failed"))
}

async fn trace(State(proxy): State<Arc<LocalProxy>>, Path(id): Path<u64>, mut rest: Bytes) -> Response {
    let Some(job_state) = proxy.find_job(id) else { return canceled_response(&proxy, id) };
    let url = proxy.server.url(&format!("jobs/{id}/trace"));
    let mut sent_bytes = job_state.sent_bytes.lock().await;
    let mut headers = HeaderMap::new();
    let mut corrections = 0;
    while !rest.is_empty() {
        let chunk = rest.slice(..rest.len().min(CHUNK_SIZE));
        let range = format!("{}-{}", *sent_bytes, *sent_bytes + chunk.len() as u64 - 1);
        let send = || {
            let request = proxy.server.client.patch(url.clone()).header("JOB-TOKEN", &job_state.token);
            let request = request.header("Content-Range", &range).header("Content-Type", "text/plain");
            request.body(chunk.clone()).send()
        };
        let Some(response) = proxy.send_with_retries(send).await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        if is_job_finished(&response) {
            return canceled_response(&proxy, id);
        }
        if let Some(seconds) = response.headers().get(UPDATE_INTERVAL)
            && seconds.to_str().is_ok_and(|it| it.parse().is_ok_and(|it: u64| it > 0))
        {
            headers.insert(UPDATE_INTERVAL, seconds.clone());
        }
        match response.status() {
            StatusCode::ACCEPTED => {
                *sent_bytes += chunk.len() as u64;
                rest = rest.slice(chunk.len()..);
            }
            StatusCode::RANGE_NOT_SATISFIABLE if corrections < 3 => {
                corrections += 1;
                let Some(stored) = stored_length(&response) else { return response.status().into_response() };
                // The response to an earlier attempt was lost: the server has stored this chunk or a part of it.
                let received = stored.checked_sub(*sent_bytes).and_then(|it| usize::try_from(it).ok());
                rest = rest.slice(received.filter(|it| *it <= chunk.len()).unwrap_or(0)..);
                *sent_bytes = stored;
            }
            status => return status.into_response(),
        }
    }
    (StatusCode::ACCEPTED, headers).into_response()
}

/// Parses the length of the stored trace from the header `Range: 0-<length>`.
fn stored_length(response: &reqwest::Response) -> Option<u64> {
    response.headers().get("Range")?.to_str().ok()?.split_once('-')?.1.parse().ok()
}

async fn update(State(proxy): State<Arc<LocalProxy>>, Path(id): Path<u64>, body: Bytes) -> Response {
    let (Some(job_state), Ok(mut body)) = (proxy.find_job(id), serde_json::from_slice::<Value>(&body)) else {
        return canceled_response(&proxy, id);
    };
    let is_last = body["state"] != "running";
    if body["state"] == "failed" {
        let failure = *lock(&job_state.failure);
        body["failure_reason"] = json!(failure.map_or("runner_system_failure", |it| it.reason));
        if let Some(code) = failure.and_then(|it| it.exit_code) {
            body["exit_code"] = json!(code);
        }
    }
    let url = proxy.server.url(&format!("jobs/{id}"));
    let send = || async {
        let response = proxy.server.client.put(url.clone()).json(&body).send().await?;
        // 202 means that the server is not ready for the result yet. Treat it as 503, which is retried.
        if is_last && response.status() == StatusCode::ACCEPTED {
            let retry = axum::http::Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).body("");
            return Ok(retry.unwrap_or_default().into());
        }
        Ok(response)
    };
    // A heartbeat is not retried, because the crate sends the next one soon.
    let response = if is_last { proxy.send_with_retries(send).await } else { send().await.ok() };
    match response {
        Some(answer) if !is_last && is_job_finished(&answer) => canceled_response(&proxy, id),
        Some(answer) => {
            if is_last {
                proxy.remove_job(id);
                if !answer.status().is_success() {
                    tracing::warn!(build = id, status = %answer.status(), "server rejected the build result");
                }
            }
            answer.status().into_response()
        }
        None => {
            if is_last {
                proxy.remove_job(id);
                tracing::error!(build = id, "sending the build result failed");
            }
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

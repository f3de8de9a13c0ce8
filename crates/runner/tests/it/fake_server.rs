//! A fake server with one job that can simulate faults. The mock of the crate `gitlab-runner` supports neither
//! repositories nor caches.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, patch, post, put};
use serde_json::{Value, json};
use url::Url;

#[derive(Default)]
pub struct FakeState {
    pub job: Option<Value>,
    pub trace: Vec<u8>,
    pub max_chunk_bytes: usize,
    pub updates: Vec<Value>,
    pub registrations: Vec<Value>,
    /// Number of trace updates whose response is lost after the server has stored them.
    pub lost_responses: usize,
    /// Number of final status updates that are answered with 202 because the server is not ready for them.
    pub deferred_updates: usize,
}

#[derive(Clone, Default)]
pub struct FakeServer(pub Arc<Mutex<FakeState>>);

impl FakeServer {
    pub async fn start() -> (FakeServer, Url) {
        let server = FakeServer::default();
        let router = Router::new()
            .route("/api/v4/runners", post(register))
            .route("/api/v4/runners", delete(unregister))
            .route("/api/v4/jobs/request", post(request))
            .route("/api/v4/jobs/{id}/trace", patch(trace))
            .route("/api/v4/jobs/{id}", put(update))
            .with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, url)
    }

    pub fn queue_job(&self, script: &[&str], more: &Value) {
        let mut job = json!({
            "id": 7, "token": "job-token-7", "allow_git_fetch": true,
            "job_info": {"name": "test", "stage": "test", "project_id": 3, "project_name": "p"},
            "git_info": {"repo_url": "http://gitlab-ci-token:job-token-7@127.0.0.1:9/a/p.git", "ref": "main",
                "sha": "1".repeat(40), "before_sha": "0".repeat(40), "ref_type": "branch",
                "refspecs": ["+refs/heads/main:refs/remotes/origin/main"], "depth": 0},
            "runner_info": {"timeout": 60},
            "variables": [{"key": "GIT_STRATEGY", "value": "none", "public": true, "masked": false}],
            "steps": [{"name": "script", "script": script, "timeout": 60, "when": "on_success", "allow_failure": false}],
            "artifacts": null, "cache": [], "dependencies": [], "image": null, "services": [], "credentials": [],
        });
        for (key, value) in more.as_object().unwrap() {
            job[key] = value.clone();
        }
        let mut state = self.0.lock().unwrap();
        (state.job, state.trace, state.updates) = (Some(job), Vec::new(), Vec::new());
    }

    /// Returns the trace without color codes.
    pub fn trace(&self) -> String {
        let text = String::from_utf8(self.0.lock().unwrap().trace.clone()).unwrap();
        ["36;1", "32;1", "33;1", "31;1", "0;"]
            .iter()
            .fold(text, |text, code| text.replace(&format!("\x1b[{code}m"), ""))
    }

    pub fn last_update(&self) -> Value {
        self.0.lock().unwrap().updates.last().cloned().unwrap()
    }
}

async fn register(State(server): State<FakeServer>, axum::Json(body): axum::Json<Value>) -> Response {
    if body["token"] != "registration" {
        return StatusCode::FORBIDDEN.into_response();
    }
    server.0.lock().unwrap().registrations.push(body);
    (StatusCode::CREATED, axum::Json(json!({"id": 1, "token": "runner-token", "token_expires_at": null})))
        .into_response()
}

async fn unregister(axum::Json(body): axum::Json<Value>) -> StatusCode {
    if body["token"] == "runner-token" { StatusCode::NO_CONTENT } else { StatusCode::FORBIDDEN }
}

async fn request(State(server): State<FakeServer>, axum::Json(body): axum::Json<Value>) -> Response {
    if body["token"] != "runner-token" {
        return StatusCode::FORBIDDEN.into_response();
    }
    match server.0.lock().unwrap().job.take() {
        Some(job) => (StatusCode::CREATED, axum::Json(job)).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

async fn trace(State(server): State<FakeServer>, headers: HeaderMap, body: Bytes) -> Response {
    let mut state = server.0.lock().unwrap();
    assert_eq!(headers["JOB-TOKEN"], "job-token-7");
    let start: usize = headers["Content-Range"].to_str().unwrap().split('-').next().unwrap().parse().unwrap();
    if start != state.trace.len() {
        let range = format!("0-{}", state.trace.len());
        return (StatusCode::RANGE_NOT_SATISFIABLE, [("Range", range)]).into_response();
    }
    state.trace.extend_from_slice(&body);
    state.max_chunk_bytes = state.max_chunk_bytes.max(body.len());
    if state.lost_responses > 0 {
        state.lost_responses -= 1;
        return StatusCode::BAD_GATEWAY.into_response();
    }
    (StatusCode::ACCEPTED, [("Job-Status", "running"), ("X-GitLab-Trace-Update-Interval", "0")]).into_response()
}

async fn update(State(server): State<FakeServer>, axum::Json(body): axum::Json<Value>) -> StatusCode {
    let mut state = server.0.lock().unwrap();
    if state.deferred_updates > 0 {
        state.deferred_updates -= 1;
        return StatusCode::ACCEPTED;
    }
    state.updates.push(body);
    StatusCode::OK
}

//! A webhook receiver that records requests and responds as a test configures it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::net::TcpListener;

pub struct Receiver {
    pub base: String,
    log: Arc<Mutex<ReceivedLog>>,
}

#[derive(Default)]
struct ReceivedLog {
    received: Vec<ReceivedRequest>,
    /// Responses to the next requests; after these every response is 200.
    responses: VecDeque<Response>,
    delay: Duration,
}

#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub raw: Bytes,
    pub body: Value,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub fn sequence(&self) -> i64 {
        self.header("x-holdfast-sequence").parse().expect("a number")
    }
}

impl Receiver {
    /// Starts a receiver on a free port of 127.0.0.1.
    pub async fn start() -> Self {
        Self::bind("127.0.0.1").await
    }

    pub async fn bind(address: &str) -> Self {
        let log = Arc::new(Mutex::new(ReceivedLog::default()));
        let listener = TcpListener::bind((address, 0)).await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Router::new().fallback(receive).with_state(log.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.expect("serving does not end") });
        Self { base, log }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Queues the response to one of the next requests.
    pub fn respond_with(&self, response: impl IntoResponse) {
        self.log.lock().expect("no test panics while holding it").responses.push_back(response.into_response());
    }

    /// Sets the time that the receiver waits before each response.
    pub fn set_delay(&self, delay: Duration) {
        self.log.lock().expect("no test panics while holding it").delay = delay;
    }

    /// Queues `times` responses with status 500.
    pub fn fail(&self, times: usize) {
        for _ in 0..times {
            self.respond_with(StatusCode::INTERNAL_SERVER_ERROR);
        }
    }

    /// Returns the requests received since the last call.
    pub fn take_received(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut self.log.lock().expect("no test panics while holding it").received)
    }

    /// Returns the sequence numbers of the deliveries received since the last call of this or of
    /// [`Self::take_received`].
    pub fn sequences(&self) -> Vec<i64> {
        self.take_received().iter().map(ReceivedRequest::sequence).collect()
    }
}

async fn receive(State(kept): State<Arc<Mutex<ReceivedLog>>>, uri: Uri, headers: HeaderMap, raw: Bytes) -> Response {
    let (response, delay) = {
        let mut log = kept.lock().expect("no test panics while holding it");
        let body = serde_json::from_slice(&raw).unwrap_or_default();
        log.received.push(ReceivedRequest { path: uri.path().to_owned(), headers, raw, body });
        (log.responses.pop_front(), log.delay)
    };
    tokio::time::timeout(delay, std::future::pending::<()>()).await.ok();
    response.unwrap_or_else(|| StatusCode::OK.into_response())
}

//! Somebody who is told what happens: a server that keeps what it is sent, and answers as a test wants it to.

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
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    received: Vec<Received>,
    /// For the next requests; then all is well.
    answers: VecDeque<Response>,
    delay: Duration,
}

#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub raw: Bytes,
    pub body: Value,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub fn sequence(&self) -> i64 {
        self.header("x-holdfast-sequence").parse().expect("a number")
    }
}

impl Receiver {
    /// On a free port of the loopback interface.
    pub async fn start() -> Self {
        Self::at("127.0.0.1").await
    }

    pub async fn at(address: &str) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let listener = TcpListener::bind((address, 0)).await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Router::new().fallback(receive).with_state(kept.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.expect("serving does not end") });
        Self { base, kept }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// What the next request is answered with.
    pub fn answer(&self, answer: impl IntoResponse) {
        self.kept.lock().expect("no test panics while holding it").answers.push_back(answer.into_response());
    }

    /// How long it takes to answer.
    pub fn take_long(&self, delay: Duration) {
        self.kept.lock().expect("no test panics while holding it").delay = delay;
    }

    /// So many requests fail.
    pub fn fail(&self, times: usize) {
        for _ in 0..times {
            self.answer(StatusCode::INTERNAL_SERVER_ERROR);
        }
    }

    /// What came since this was asked last.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.kept.lock().expect("no test panics while holding it").received)
    }

    /// The numbers of what came since then.
    pub fn sequences(&self) -> Vec<i64> {
        self.take().iter().map(Received::sequence).collect()
    }
}

async fn receive(State(kept): State<Arc<Mutex<Kept>>>, uri: Uri, headers: HeaderMap, raw: Bytes) -> Response {
    let (answer, delay) = {
        let mut kept = kept.lock().expect("no test panics while holding it");
        let body = serde_json::from_slice(&raw).unwrap_or_default();
        kept.received.push(Received { path: uri.path().to_owned(), headers, raw, body });
        (kept.answers.pop_front(), kept.delay)
    };
    tokio::time::timeout(delay, std::future::pending::<()>()).await.ok();
    answer.unwrap_or_else(|| StatusCode::OK.into_response())
}

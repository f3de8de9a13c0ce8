//! What happens around every request: an id, a log line, metrics, a deadline.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::{CONNECTION, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;

use crate::error::ApiError;
use crate::{Context, client_address};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const NOSNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));

/// The query is never logged: it may carry a token.
pub async fn observe(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (mut parts, body) = request.into_parts();
    let id = request_id(parts.headers.get(&REQUEST_ID));
    let route = parts.extensions.get::<MatchedPath>().map_or("(none)".to_owned(), |path| path.as_str().to_owned());
    let address = client_address::of(&parts, &context.limits.trusted_proxies);
    parts.extensions.insert(address);
    let method = parts.method.clone();
    let span = tracing::info_span!(
        "request",
        request_id = id.to_str().unwrap_or_default(),
        %method,
        path = &*told_path(parts.uri.path()),
        %address,
        user = tracing::field::Empty,
        sudo_by = tracing::field::Empty,
    );
    let mut response = next.run(Request::from_parts(parts, body)).instrument(span.clone()).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response.headers_mut().insert(NOSNIFF.0, NOSNIFF.1);
    if context.app.is_leaving() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    let elapsed = started.elapsed();
    let _entered = span.enter();
    tracing::info!(status, microseconds = elapsed.as_micros() as u64, "answered");
    let labels = [("method", known(&method).to_owned()), ("route", route), ("status", status.to_string())];
    metrics::counter!("holdfast_http_requests_total", &labels).increment(1);
    metrics::histogram!("holdfast_http_request_seconds", &labels[..2]).record(elapsed.as_secs_f64());
    response
}

/// What is secret in a path is not logged either.
fn told_path(path: &str) -> Cow<'_, str> {
    match path.split_once("/triggers/") {
        Some((before, _)) => format!("{before}/triggers/:token").into(),
        None => path.into(),
    }
}

/// A client can make up methods, but not metrics.
fn known(method: &Method) -> &str {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS];
    if known.contains(method) { method.as_str() } else { "other" }
}

/// A request that takes too long is given up; its transaction rolls back.
pub async fn deadline(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(context.limits.request_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::timed_out().into_response(),
    }
}

/// A balancer's id is kept if it is one that can safely be logged.
fn request_id(given: Option<&HeaderValue>) -> HeaderValue {
    let is_plain = |id: &&HeaderValue| {
        (1..=64).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    given.filter(is_plain).cloned().unwrap_or_else(|| {
        let id = uuid::Uuid::now_v7().simple().to_string();
        HeaderValue::from_str(&id).expect("hexadecimal digits are a header value")
    })
}

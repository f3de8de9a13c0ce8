//! What happens around every request: an id, a log line, metrics, headers that protect browsers, a deadline.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, HOST, HeaderName, HeaderValue, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;

use crate::connection::RequestBodyState;
use crate::error::ApiError;
use crate::{Context, client_address};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A year, as browsers recommend.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

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
    let is_api = is_api(parts.uri.path());
    let body_state = parts.extensions.get::<RequestBodyState>().cloned();
    let mut response = match check_host(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).instrument(span.clone()).await,
        Err(error) => error.into_response(),
    };
    let is_refused = response.status().as_u16() >= 400;
    if is_refused && body_state.as_ref().is_some_and(RequestBodyState::is_stalled) {
        response = ApiError::body_timed_out().into_response();
    }
    response.headers_mut().insert(REQUEST_ID, id);
    protect(response.headers_mut(), is_api, context.site.is_https());
    // The rest of a body that was not worth reading is not waited for.
    let has_unread_body = is_refused && body_state.as_ref().is_some_and(RequestBodyState::is_unread);
    if has_unread_body || context.app.is_leaving() {
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

/// HTTP/1.1 demands exactly one host. Proxies and servers that choose different ones of two have been played off against each
/// other.
fn check_host(parts: &Parts) -> Result<(), ApiError> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let is_valid = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(|host| host.is_empty() || host.parse::<Authority>().is_ok()),
        (None, _) => parts.version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    let error = || ApiError::error(StatusCode::BAD_REQUEST, "400 Bad Request: one valid Host header is needed");
    is_valid.then_some(()).ok_or_else(error)
}

/// Where responses are about accounts and projects, and may carry secrets.
fn is_api(path: &str) -> bool {
    ["/api/v3/", "/api/v4/", "/ci/api/"].iter().any(|prefix| path.starts_with(prefix))
}

/// Sets what browsers and caches must know of every response.
fn protect(headers: &mut HeaderMap, is_api: bool, is_https: bool) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if is_https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
    if is_api {
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
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

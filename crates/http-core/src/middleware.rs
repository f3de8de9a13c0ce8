//! Middleware for all requests: request id, client address, log line, metrics, security headers and timeout.

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
use axum::http::{HeaderMap, Method, Version};
use axum::middleware::Next;
use axum::response::Response;
use holdfast_domain::InstanceUrls;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{RequestBodyState, RequestError, RequestLimits, client_address};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// One year, as browser vendors recommend.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// What the middleware needs to know of the service that it wraps.
#[derive(Clone)]
pub struct ServiceContext {
    pub site: InstanceUrls,
    pub limits: Arc<RequestLimits>,
    /// Canceled when the node shuts down. Connections are then closed after their response.
    pub shutdown: CancellationToken,
    /// Formats the errors that the middleware itself responds with.
    pub error_response: fn(RequestError) -> Response,
}

/// The id of a request as an extension of the request, for pages and logs.
#[derive(Clone, Debug)]
pub struct RequestId(pub HeaderValue);

/// Assigns a request id, determines the client address for [`client_address::from_extensions`], checks the `Host`
/// header, sets the common response headers, and records the log line and the metrics. The query is never logged,
/// because it may contain a token.
pub async fn trace_request(State(context): State<Arc<ServiceContext>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (mut parts, body) = request.into_parts();
    let id = request_id(parts.headers.get(&REQUEST_ID));
    let route = parts.extensions.get::<MatchedPath>().map_or("(none)".to_owned(), |path| path.as_str().to_owned());
    let address = client_address::determine(&parts, &context.limits.settings.trusted_proxies);
    parts.extensions.insert(address);
    parts.extensions.insert(RequestId(id.clone()));
    let method = parts.method.clone();
    let span = tracing::info_span!(
        "request",
        request_id = id.to_str().unwrap_or_default(),
        %method,
        path = &*redacted_path(parts.uri.path()),
        %address,
        user = tracing::field::Empty,
        sudo_by = tracing::field::Empty,
    );
    let is_api = is_api(parts.uri.path());
    let body_state = parts.extensions.get::<RequestBodyState>().cloned();
    let mut response = match check_host(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).instrument(span.clone()).await,
        Err(error) => (context.error_response)(error),
    };
    let is_error = response.status().as_u16() >= 400;
    if is_error && body_state.as_ref().is_some_and(RequestBodyState::is_stalled) {
        response = (context.error_response)(RequestError::BodyTimedOut);
    }
    response.headers_mut().insert(REQUEST_ID, id);
    set_security_headers(response.headers_mut(), &context.site, is_api);
    // The client need not send the rest of a body that a rejected request left unread.
    let has_unread_body = is_error && body_state.as_ref().is_some_and(RequestBodyState::is_unread);
    if has_unread_body || context.shutdown.is_cancelled() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    let elapsed = started.elapsed();
    let _entered = span.enter();
    tracing::info!(status, microseconds = elapsed.as_micros() as u64, "request completed");
    let labels = [("method", metric_method(&method).to_owned()), ("route", route), ("status", status.to_string())];
    metrics::counter!("holdfast_http_requests_total", &labels).increment(1);
    metrics::histogram!("holdfast_http_request_duration_seconds", &labels[..2]).record(elapsed.as_secs_f64());
    response
}

/// Checks that there is exactly one valid `Host` header, as HTTP/1.1 requires. With two, attackers could make a proxy
/// and the server use different ones.
fn check_host(parts: &Parts) -> Result<(), RequestError> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let is_valid = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(|host| host.is_empty() || host.parse::<Authority>().is_ok()),
        (None, _) => parts.version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    is_valid.then_some(()).ok_or(RequestError::InvalidHost)
}

/// Returns whether a path belongs to an API whose responses may contain secrets and must not be cached.
fn is_api(path: &str) -> bool {
    ["/api/v3/", "/api/v4/", "/ci/api/"].iter().any(|prefix| path.starts_with(prefix))
}

/// Sets the headers for browsers and caches that all responses have. A page may have a referrer policy of its own.
fn set_security_headers(headers: &mut HeaderMap, site: &InstanceUrls, is_api: bool) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    if site.is_https() {
        headers.insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
    if is_api {
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
}

/// Replaces trigger tokens in a path, so that they are not logged.
fn redacted_path(path: &str) -> Cow<'_, str> {
    match path.split_once("/triggers/") {
        Some((before, _)) => format!("{before}/triggers/:token").into(),
        None => path.into(),
    }
}

/// Returns the method as a metric label. Unknown methods share one label, so that clients cannot create time series.
fn metric_method(method: &Method) -> &str {
    let known_methods =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS];
    if known_methods.contains(method) { method.as_str() } else { "other" }
}

/// Cancels a request that exceeds the request timeout. Its open transaction is rolled back.
pub async fn enforce_timeout(State(context): State<Arc<ServiceContext>>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(context.limits.settings.request_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (context.error_response)(RequestError::TimedOut),
    }
}

/// Returns the id of a request: the one from the load balancer if it is safe to log, otherwise a new one.
fn request_id(header: Option<&HeaderValue>) -> HeaderValue {
    let is_plain = |id: &&HeaderValue| {
        (1..=64).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    header.filter(is_plain).cloned().unwrap_or_else(|| {
        let id = uuid::Uuid::now_v7().simple().to_string();
        HeaderValue::from_str(&id).expect("hexadecimal digits are a valid header value")
    })
}

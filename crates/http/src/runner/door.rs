//! Who comes as a runner, and how it is refused.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use holdfast_app::ci::runner_door::{self, Appended, Denied, Key};
use holdfast_app::{App, Error};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::BuildId;
use serde_json::json;

use super::fields::Fields;
use crate::error::ApiError;
use crate::{Context, body, client_address};

/// Maximum size of a body without a trace, and how much is read of any body before the token in it is known to be good.
/// Runners send some kilobytes.
const MAX_BODY_BYTES: usize = 256 << 10;
/// Parts of a trace up to this size need no permit: nearly all are shorter.
const MAX_SMALL_TRACE_BYTES: usize = 64 << 10;
/// Runners send at most this much of a trace at a time. There are fewer permits for more.
const MAX_USUAL_TRACE_BYTES: usize = 1 << 20;
/// Maximum size of a part of a trace, or of a whole one that comes with the status of its build.
const MAX_TRACE_BYTES: usize = 16 << 20;

pub type Answered = Result<Response, Response>;

/// Whoever guesses at tokens is slowed down.
pub fn refused(context: &Context, parts: &Parts, error: impl Into<ApiError>) -> Response {
    let response = error.into().into_response();
    if response.status() == StatusCode::FORBIDDEN {
        let address = *parts.extensions.get::<IpAddr>().unwrap_or(&IpAddr::from([0, 0, 0, 0]));
        if let Err(throttled) = context.anonymous.check(|| client_address::key(address)) {
            return ApiError::from(throttled).into_response();
        }
    }
    response
}

/// A runner's request: what it sends, and the token by which it is known.
pub struct Asked {
    pub context: Arc<Context>,
    pub parts: Parts,
    pub sent: Fields,
    pub token: String,
}

impl Asked {
    pub async fn read(context: Arc<Context>, request: Request) -> Result<Self, Response> {
        let (parts, mut body) = request.into_parts();
        let reading = body::read_start(&mut body, MAX_BODY_BYTES);
        // Whoever asks for work may wait for a long time, but has to ask in time.
        let read = tokio::time::timeout(context.limits.request_timeout, reading).await;
        let (start, is_whole) = read.map_err(|_| ApiError::timed_out().into_response())?.ok_or_else(broken_off)?;
        if !is_whole {
            return Err(ApiError::too_large().into_response());
        }
        let sent = Fields::parse(&parts, &start).map_err(IntoResponse::into_response)?;
        match sent.text("token").map(str::to_owned) {
            Some(token) => Ok(Self { context, parts, sent, token }),
            None => Err(refused(&context, &parts, forbidden())),
        }
    }

    pub fn app(&self) -> &App {
        &self.context.app
    }

    pub fn refused(&self, error: Error) -> Response {
        refused(&self.context, &self.parts, error)
    }
}

fn broken_off() -> Response {
    ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format").into_response()
}

/// Reads what says how a build does. The whole trace may come with it, which is held in memory: only the start of such a
/// body is read before the token is found to be good, in the header, the query or that start.
pub async fn read_update(
    context: &Context,
    parts: &Parts,
    mut body: Body,
    id: BuildId,
    key: for<'a> fn(&'a str) -> Key<'a>,
    token_header: Option<&str>,
    denied: impl Fn(Denied) -> Response,
) -> Result<Fields, Response> {
    if let Some(token) = token_header
        && let Err(error) = runner_door::check(&context.app, id, key(token)).await
    {
        return Err(denied(error));
    }
    let (start, is_whole) = body::read_start(&mut body, MAX_BODY_BYTES).await.ok_or_else(broken_off)?;
    if is_whole {
        return Fields::parse(parts, &start).map_err(IntoResponse::into_response);
    }
    let Some(token) = token_header.map(str::to_owned).or_else(|| Fields::token_in_start(parts, &start)) else {
        return Err(ApiError::too_large().into_response());
    };
    let build = match runner_door::check(&context.app, id, key(&token)).await {
        Ok(build) => build,
        Err(error) => return Err(denied(error)),
    };
    let permit = context.traces.acquire(&context.app, &build, parts).await;
    let _permit = permit.map_err(|error| denied(error.into()))?;
    let body = body::read_on(start, body, MAX_TRACE_BYTES).await;
    let body = body.ok_or_else(|| ApiError::too_large().into_response())?;
    Fields::parse(parts, &body).map_err(IntoResponse::into_response)
}

/// The token of a build, as each protocol sends it.
pub fn build_token<'a>(headers: &'a HeaderMap, names: &[&str], field: Option<&'a str>) -> Option<&'a str> {
    names.iter().find_map(|name| headers.get(*name)?.to_str().ok()).or(field)
}

pub(super) fn forbidden() -> Error {
    Error::Forbidden(None)
}

/// Tells a runner what became of its build.
pub fn with_status(mut response: Response, name: &'static str, status: Status) -> Response {
    response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(status.word()));
    response
}

pub fn denied(context: &Context, parts: &Parts, denied: Denied, status_header: &'static str) -> Response {
    match denied {
        Denied::Unknown => refused(context, parts, forbidden()),
        Denied::Over(status) => with_status(ApiError::from(forbidden()).into_response(), status_header, status),
        Denied::Failed(error) => ApiError::from(error).into_response(),
    }
}

fn is_usual(parts: &Parts) -> bool {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length <= MAX_USUAL_TRACE_BYTES)
}

/// `Content-Range: 0-1692`. Runners differ in what the end means, so that the beginning alone counts.
fn start_of(headers: &HeaderMap) -> Option<i64> {
    let range = headers.get("content-range")?.to_str().ok()?;
    range.trim().split('-').next()?.trim().parse().ok()
}

pub fn query(parts: &Parts, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

pub fn query_token(parts: &Parts) -> Option<String> {
    query(parts, "token")
}

/// Appends a part to the trace of a build. A permit is taken only for the rest of a long part, when much of it has arrived.
pub async fn append(
    context: &Context,
    parts: &Parts,
    mut body: Body,
    id: BuildId,
    token_headers: &[&str],
    status_header: &'static str,
) -> Answered {
    let from_query = query_token(parts);
    let Some(token) = build_token(&parts.headers, token_headers, from_query.as_deref()) else {
        return Err(refused(context, parts, forbidden()));
    };
    let build = match runner_door::check(&context.app, id, Key::Build(token)).await {
        Ok(build) => build,
        Err(error) => return Err(denied(context, parts, error, status_header)),
    };
    let too_large = || ApiError::too_large().into_response();
    let (start, is_whole) = body::read_start(&mut body, MAX_SMALL_TRACE_BYTES).await.ok_or_else(too_large)?;
    let _permit = if is_whole {
        None
    } else {
        let permits = if is_usual(parts) { &context.trace_parts } else { &context.traces };
        let permit = permits.acquire(&context.app, &build, parts).await;
        Some(permit.map_err(|error| ApiError::from(error).into_response())?)
    };
    let body = body::read_on(start, body, MAX_TRACE_BYTES).await.ok_or_else(too_large)?;
    let start = start_of(&parts.headers).filter(|start| *start >= 0);
    let start = start
        .ok_or_else(|| ApiError::error(StatusCode::BAD_REQUEST, "400 Missing header Content-Range").into_response())?;
    let appended = runner_door::append(&context.app, id, token, start, &body).await;
    let appended = appended.map_err(|error| denied(context, parts, error, status_header))?;
    let (status, length) = match appended {
        Appended::To(length) => (StatusCode::ACCEPTED, length),
        Appended::Elsewhere(length) => (StatusCode::RANGE_NOT_SATISFIABLE, length),
    };
    let mut response = (status, Json(json!(status.as_str()))).into_response();
    if let Ok(range) = HeaderValue::from_str(&format!("0-{length}")) {
        response.headers_mut().insert("range", range);
    }
    Ok(with_status(response, status_header, Status::Running))
}

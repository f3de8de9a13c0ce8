//! Parts that both runner protocols share: reading requests, verifying tokens, appending to traces, and error
//! responses.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use holdfast_app::ci::runner_api::{self, AppendResult, BuildCredential, RunnerError};
use holdfast_app::client::client_network;
use holdfast_app::{App, Error};
use holdfast_domain::ci::Status;
use holdfast_domain::ids::BuildId;
use holdfast_http_core::{body, client_address};
use serde_json::json;

use super::fields::Fields;
use super::protocol::Protocol;
use crate::Context;
use crate::error::ApiError;

/// Maximum size of a body without a trace, and of the start of a body that is read before its token is verified.
/// Runners send a few kilobytes.
const MAX_BODY_BYTES: usize = 256 << 10;
/// Parts of a trace up to this size need no permit. Nearly all are shorter.
const MAX_SMALL_TRACE_BYTES: usize = 64 << 10;
/// Runners send at most this much of a trace at once. Larger parts share a smaller number of permits.
const MAX_USUAL_TRACE_BYTES: usize = 1 << 20;
/// Maximum size of a part of a trace, or of a whole trace in a status update of a build.
const MAX_TRACE_BYTES: usize = 16 << 20;

pub type HandlerResult = Result<Response, Response>;

/// Returns the response for an error. Each 403 is counted for the client address; beyond the limit the response is 429.
///
/// Only failed attempts count, and a valid token works whatever the count is: a build script has the address of its
/// runner, and must not be able to stop the runner with wrong tokens.
pub fn throttled_error(context: &Context, parts: &Parts, error: impl Into<ApiError>) -> Response {
    let response = error.into().into_response();
    if response.status() == StatusCode::FORBIDDEN {
        let address = client_address::from_extensions(parts);
        let key = || client_network(address).to_string();
        let counted = context.runner_token_throttle.check(key).and_then(|()| context.limits.count_anonymous(address));
        if let Err(throttled) = counted {
            return ApiError::from(throttled).into_response();
        }
    }
    response
}

/// A request of a runner, with its fields and its token, which is not verified yet.
pub struct RunnerRequest {
    pub context: Arc<Context>,
    pub parts: Parts,
    pub fields: Fields,
    pub token: String,
}

impl RunnerRequest {
    pub async fn read(context: Arc<Context>, request: Request) -> Result<Self, Response> {
        let (parts, mut body) = request.into_parts();
        let reading = body::read_start(&mut body, MAX_BODY_BYTES);
        // This also serves long polls, which have no request timeout, so reading the body has a timeout of its own.
        let read = tokio::time::timeout(context.limits.settings.request_timeout, reading).await;
        let (start, is_whole) = read.map_err(|_| ApiError::timed_out().into_response())?.ok_or_else(malformed_body)?;
        if !is_whole {
            return Err(ApiError::too_large().into_response());
        }
        let fields = Fields::parse(&parts, &start).map_err(IntoResponse::into_response)?;
        match fields.text("token").map(str::to_owned) {
            Some(token) => Ok(Self { context, parts, fields, token }),
            None => Err(throttled_error(&context, &parts, forbidden())),
        }
    }

    pub fn app(&self) -> &App {
        &self.context.app
    }

    pub fn throttled_error(&self, error: Error) -> Response {
        throttled_error(&self.context, &self.parts, error)
    }
}

fn malformed_body() -> Response {
    ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format").into_response()
}

/// Reads a status update of a build. The body may contain the whole trace, which is in memory: the rest of a long body
/// is read only after the token from the header, the query or the start of the body has been verified.
pub async fn read_update(
    context: &Context,
    parts: &Parts,
    mut body: Body,
    id: BuildId,
    credential: for<'a> fn(&'a str) -> BuildCredential<'a>,
    token_header: Option<&str>,
    to_response: impl Fn(RunnerError) -> Response,
) -> Result<Fields, Response> {
    if let Some(token) = token_header
        && let Err(error) = runner_api::verify_build(&context.app, id, credential(token)).await
    {
        return Err(to_response(error));
    }
    let (start, is_whole) = body::read_start(&mut body, MAX_BODY_BYTES).await.ok_or_else(malformed_body)?;
    if is_whole {
        return Fields::parse(parts, &start).map_err(IntoResponse::into_response);
    }
    let Some(token) = token_header.map(str::to_owned).or_else(|| Fields::token_in_start(parts, &start)) else {
        return Err(ApiError::too_large().into_response());
    };
    let build = match runner_api::verify_build(&context.app, id, credential(&token)).await {
        Ok(build) => build,
        Err(error) => return Err(to_response(error)),
    };
    let permit = context.trace_permits.acquire(&context.app, &build, parts).await;
    let _permit = permit.map_err(|error| to_response(error.into()))?;
    let body = body::read_rest(start, body, MAX_TRACE_BYTES).await;
    let body = body.ok_or_else(|| ApiError::too_large().into_response())?;
    Fields::parse(parts, &body).map_err(IntoResponse::into_response)
}

pub(super) fn forbidden() -> Error {
    Error::Forbidden(None)
}

pub fn runner_error_response(context: &Context, parts: &Parts, error: RunnerError, protocol: &Protocol) -> Response {
    match error {
        RunnerError::UnknownBuild => throttled_error(context, parts, forbidden()),
        RunnerError::NotRunning(status) => protocol.with_status(ApiError::from(forbidden()).into_response(), status),
        RunnerError::Other(error) => ApiError::from(error).into_response(),
    }
}

fn has_usual_length(parts: &Parts) -> bool {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length <= MAX_USUAL_TRACE_BYTES)
}

/// Returns the start of a range such as `Content-Range: 0-1692`. The end is ignored, because runners disagree on its
/// meaning.
fn range_start(headers: &HeaderMap) -> Option<i64> {
    let range = headers.get("content-range")?.to_str().ok()?;
    range.trim().split('-').next()?.trim().parse().ok()
}

pub fn query_param(parts: &Parts, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

pub fn query_token(parts: &Parts) -> Option<String> {
    query_param(parts, "token")
}

/// Appends a part to the trace of a build. A permit is acquired only for the rest of a long part, after its start has
/// arrived.
pub async fn append_trace(
    context: &Context,
    parts: &Parts,
    mut body: Body,
    id: BuildId,
    protocol: &Protocol,
) -> HandlerResult {
    let from_query = query_token(parts);
    let Some(token) = protocol.build_token(&parts.headers, from_query.as_deref()) else {
        return Err(throttled_error(context, parts, forbidden()));
    };
    let build = match runner_api::verify_build(&context.app, id, BuildCredential::JobToken(token)).await {
        Ok(build) => build,
        Err(error) => return Err(runner_error_response(context, parts, error, protocol)),
    };
    let too_large = || ApiError::too_large().into_response();
    let (start, is_whole) = body::read_start(&mut body, MAX_SMALL_TRACE_BYTES).await.ok_or_else(too_large)?;
    let _permit = if is_whole {
        None
    } else {
        let permits = if has_usual_length(parts) { &context.trace_part_permits } else { &context.trace_permits };
        let permit = permits.acquire(&context.app, &build, parts).await;
        Some(permit.map_err(|error| ApiError::from(error).into_response())?)
    };
    let body = body::read_rest(start, body, MAX_TRACE_BYTES).await.ok_or_else(too_large)?;
    let offset = range_start(&parts.headers).filter(|offset| *offset >= 0);
    let start = offset
        .ok_or_else(|| ApiError::error(StatusCode::BAD_REQUEST, "400 Missing header Content-Range").into_response())?;
    let appended = runner_api::append_trace(&context.app, id, token, start, &body).await;
    let appended = appended.map_err(|error| runner_error_response(context, parts, error, protocol))?;
    let (status, length) = match appended {
        AppendResult::Accepted(length) => (StatusCode::ACCEPTED, length),
        AppendResult::RangeMismatch(length) => (StatusCode::RANGE_NOT_SATISFIABLE, length),
    };
    let mut response = (status, Json(json!(status.as_str()))).into_response();
    if let Ok(range) = HeaderValue::from_str(&format!("0-{length}")) {
        response.headers_mut().insert("range", range);
    }
    Ok(protocol.with_status(response, Status::Running))
}

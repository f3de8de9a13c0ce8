//! The runner protocol since 9.0, `/api/v4`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, patch, post, put};
use axum::{Json, Router};
use holdfast_app::ci::job::{self, JobResponse};
use holdfast_app::ci::runner_api::{self, BuildCredential, BuildOutcome, RegisteredRunner, RunnerError};
use holdfast_domain::ci::FailureReason;
use holdfast_domain::ids::BuildId;
use serde_json::{Value, json};

use super::artifacts;
use super::job as present;
use super::protocol::Protocol;
use super::requests::{
    HandlerResult, RunnerRequest, append_trace, forbidden, read_update, runner_error_response, throttled_error,
};
use crate::Context;
use crate::error::ApiError;
use crate::path::Path;

const PROTOCOL: Protocol = Protocol { token_header: "job-token", status_header: "job-status" };

pub fn router() -> Router<Arc<Context>> {
    Router::new()
        .route("/api/v4/runners", post(register).delete(unregister))
        .route("/api/v4/runners/verify", post(verify))
        .route("/api/v4/runners/managers", delete(unregister_manager))
        .route("/api/v4/runners/reset_authentication_token", post(reset_token))
        .route("/api/v4/jobs/{id}", put(update))
        .route("/api/v4/jobs/{id}/trace", patch(trace))
}

pub fn untimed_router() -> Router<Arc<Context>> {
    Router::new()
        .route("/api/v4/jobs/request", post(request_job))
        .route("/api/v4/jobs/{id}/artifacts", post(upload).get(download))
}

fn registration_json(registration: &RegisteredRunner) -> Value {
    json!({ "id": registration.id, "token": registration.token, "token_expires_at": null })
}

async fn register(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    let registration = runner_api::register(
        runner_request.app(),
        &runner_request.token,
        runner_request.fields.attributes(),
        &runner_request.fields.info(),
    )
    .await;
    let registration = registration.map_err(|error| runner_request.throttled_error(error))?;
    Ok((StatusCode::CREATED, Json(registration_json(&registration))).into_response())
}

async fn verify(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    let id = runner_api::verify(runner_request.app(), &runner_request.token)
        .await
        .map_err(|error| runner_request.throttled_error(error))?
        .id;
    Ok(Json(registration_json(&RegisteredRunner { id, token: runner_request.token })).into_response())
}

async fn unregister(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    runner_api::unregister(runner_request.app(), &runner_request.token)
        .await
        .map_err(|error| runner_request.throttled_error(error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Unregisters one of several processes that share a token. Only verifies the token, because processes are not
/// distinguished.
async fn unregister_manager(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    runner_api::verify(runner_request.app(), &runner_request.token)
        .await
        .map_err(|error| runner_request.throttled_error(error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn reset_token(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    let registration = runner_api::reset_token(runner_request.app(), &runner_request.token)
        .await
        .map_err(|error| runner_request.throttled_error(error))?;
    Ok((StatusCode::CREATED, Json(registration_json(&registration))).into_response())
}

async fn request_job(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    let response = job::request(
        runner_request.app(),
        &runner_request.token,
        &runner_request.fields.info(),
        runner_request.fields.text("last_update"),
    )
    .await;
    let response = response.map_err(|error| runner_request.throttled_error(error))?;
    Ok(match response {
        JobResponse::Job(job) => (StatusCode::CREATED, Json(present::v4(&job))).into_response(),
        JobResponse::NoJob { last_update } | JobResponse::Paused { last_update } => no_content(&last_update),
    })
}

/// Returns a 204 with the value that the runner repeats as `last_update` in its next request.
pub fn no_content(last_update: &str) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(value) = HeaderValue::from_str(last_update) {
        response.headers_mut().insert("x-gitlab-last-update", value);
    }
    response
}

async fn update(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let id = BuildId::from(id);
    let to_response = |error: RunnerError| runner_error_response(&context, &parts, error, &PROTOCOL);
    let header_token = PROTOCOL.build_token(&parts.headers, None);
    let fields =
        read_update(&context, &parts, body, id, |token| BuildCredential::JobToken(token), header_token, to_response)
            .await?;
    let token = PROTOCOL.build_token(&parts.headers, fields.text("token"));
    let token = token.ok_or_else(|| throttled_error(&context, &parts, forbidden()))?;
    let (credential, trace_bytes) = (BuildCredential::JobToken(token), fields.bytes("trace"));
    let app = &context.app;
    let updated = match fields.text("state") {
        Some("running") | None => runner_api::heartbeat(app, id, credential, trace_bytes).await,
        Some("success") => runner_api::finish_build(app, id, credential, BuildOutcome::Success, trace_bytes).await,
        Some("failed") => {
            let reason = fields.text("failure_reason").and_then(FailureReason::from_str_opt);
            let reason = reason.filter(|it| FailureReason::REPORTED_BY_RUNNERS.contains(it));
            let outcome = BuildOutcome::Failed(reason.unwrap_or(FailureReason::UnknownFailure));
            runner_api::finish_build(app, id, credential, outcome, trace_bytes).await
        }
        Some(_) => {
            let text = "state does not have a valid value";
            return Err(ApiError::error(StatusCode::BAD_REQUEST, text).into_response());
        }
    };
    updated.map_err(to_response)?;
    Ok(Json(json!("200")).into_response())
}

async fn trace(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let mut response = append_trace(&context, &parts, body, id.into(), &PROTOCOL).await?;
    response.headers_mut().insert("x-gitlab-trace-update-interval", HeaderValue::from_static("3"));
    Ok(response)
}

async fn upload(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    artifacts::upload(&context, request, id.into(), &PROTOCOL).await
}

async fn download(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    let (parts, _) = request.into_parts();
    artifacts::download(&context, &parts, id.into(), &PROTOCOL).await
}

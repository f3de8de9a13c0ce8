//! The runner protocol of the 8.x series, `/ci/api/v1`. Paths may end in `.json` or `.txt`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, patch, post, put};
use axum::{Json, Router};
use holdfast_app::ci::job::{self, JobResponse};
use holdfast_app::ci::runner_api::{self, BuildCredential, BuildOutcome, RunnerError};
use holdfast_domain::ci::FailureReason;
use holdfast_domain::ids::BuildId;
use serde_json::json;

use super::artifacts;
use super::job as present;
use super::protocol::Protocol;
use super::requests::{HandlerResult, RunnerRequest, append_trace, forbidden, read_update, throttled_error};
use super::v4::no_content;
use crate::Context;
use crate::error::ApiError;
use crate::path::Path;

const PROTOCOL: Protocol = Protocol { token_header: "build-token", status_header: "build-status" };

pub fn router() -> Router<Arc<Context>> {
    let mut router = Router::new()
        .route("/ci/api/v1/runners/delete", delete(unregister))
        .route("/ci/api/v1/runners/delete.json", delete(unregister))
        .route("/ci/api/v1/builds/{id}", put(update));
    for ending in ["", ".json"] {
        router = router.route(&format!("/ci/api/v1/runners/register{ending}"), post(register));
    }
    for ending in ["", ".txt"] {
        router = router.route(&format!("/ci/api/v1/builds/{{id}}/trace{ending}"), patch(trace));
    }
    router
}

pub fn untimed_router() -> Router<Arc<Context>> {
    let mut router = Router::new();
    for ending in ["", ".json"] {
        router = router.route(&format!("/ci/api/v1/builds/register{ending}"), post(request_job)).route(
            &format!("/ci/api/v1/builds/{{id}}/artifacts{ending}"),
            post(upload).get(download).delete(delete_artifacts),
        );
    }
    router
}

fn not_found() -> Response {
    ApiError::message(StatusCode::NOT_FOUND, "404 Not Found").into_response()
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
    Ok((StatusCode::CREATED, Json(json!({ "id": registration.id, "token": registration.token }))).into_response())
}

async fn unregister(State(context): State<Arc<Context>>, request: Request) -> HandlerResult {
    let runner_request = RunnerRequest::read(context, request).await?;
    runner_api::unregister(runner_request.app(), &runner_request.token)
        .await
        .map_err(|error| runner_request.throttled_error(error))?;
    Ok(Json(json!("200")).into_response())
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
        JobResponse::Job(job) => (StatusCode::CREATED, Json(present::v1(&job))).into_response(),
        JobResponse::NoJob { last_update } if supports_no_content(&runner_request.parts.headers) => {
            no_content(&last_update)
        }
        JobResponse::NoJob { .. } | JobResponse::Paused { .. } => not_found(),
    })
}

/// Returns whether a runner supports 204, by its user agent. Older runners treat it as a failure.
fn supports_no_content(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some(rest) = agent.strip_prefix("gitlab-ci-multi-runner ") else { return false };
    let version = rest.split(' ').next().unwrap_or_default();
    version.split('.').filter(|part| part.parse::<u32>().is_ok()).count() >= 3
}

/// Updates a build, authorized by the token of its runner. Responds 404 if the runner has no such running build, and
/// 403 if the token is invalid; runners use the difference to verify their token.
async fn update(State(context): State<Arc<Context>>, Path(id): Path<String>, request: Request) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let Ok(id) = id.strip_suffix(".json").unwrap_or(&id).parse::<i64>() else {
        return Err(not_found());
    };
    let id = BuildId::from(id);
    let to_response = |error: RunnerError| match error {
        RunnerError::UnknownBuild => throttled_error(&context, &parts, forbidden()),
        RunnerError::NotRunning(_) => not_found(),
        RunnerError::Other(error) => ApiError::from(error).into_response(),
    };
    let fields =
        read_update(&context, &parts, body, id, |token| BuildCredential::RunnerToken(token), None, to_response).await?;
    let token = fields.text("token").ok_or_else(|| throttled_error(&context, &parts, forbidden()))?;
    let (app, credential, trace_bytes) = (&context.app, BuildCredential::RunnerToken(token), fields.bytes("trace"));
    let updated = match fields.text("state") {
        Some("success") => runner_api::finish_build(app, id, credential, BuildOutcome::Success, trace_bytes).await,
        Some("failed") => {
            runner_api::finish_build(
                app,
                id,
                credential,
                BuildOutcome::Failed(FailureReason::ScriptFailure),
                trace_bytes,
            )
            .await
        }
        _ => runner_api::heartbeat(app, id, credential, trace_bytes).await,
    };
    updated.map_err(to_response)?;
    Ok(Json(json!("200")).into_response())
}

async fn trace(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    let (parts, body) = request.into_parts();
    append_trace(&context, &parts, body, id.into(), &PROTOCOL).await
}

async fn upload(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    artifacts::upload(&context, request, id.into(), &PROTOCOL).await
}

async fn download(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    let (parts, _) = request.into_parts();
    artifacts::download(&context, &parts, id.into(), &PROTOCOL).await
}

async fn delete_artifacts(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> HandlerResult {
    let (parts, _) = request.into_parts();
    artifacts::delete(&context, &parts, id.into(), &PROTOCOL).await
}

//! The protocol of runners since 9.0.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, patch, post, put};
use axum::{Json, Router};
use holdfast_app::ci::job::{self, Requested};
use holdfast_app::ci::runner_door::{self, Denied, Key, Outcome, Registered};
use holdfast_domain::ids::BuildId;
use serde_json::{Value, json};

use super::artifacts;
use super::door::{Answered, Asked, append, build_token, denied, forbidden, read_update, refused};
use super::job as present;
use crate::Context;
use crate::error::ApiError;
use crate::path::Path;

const TOKEN: [&str; 1] = ["job-token"];
const STATUS: &str = "job-status";

pub fn router() -> Router<Arc<Context>> {
    Router::new()
        .route("/api/v4/runners", post(register).delete(unregister))
        .route("/api/v4/runners/verify", post(verify))
        .route("/api/v4/runners/managers", delete(leave))
        .route("/api/v4/runners/reset_authentication_token", post(reset_token))
        .route("/api/v4/jobs/{id}", put(update))
        .route("/api/v4/jobs/{id}/trace", patch(trace))
}

pub fn patient() -> Router<Arc<Context>> {
    Router::new()
        .route("/api/v4/jobs/request", post(request))
        .route("/api/v4/jobs/{id}/artifacts", post(upload).get(download))
}

fn registered(it: &Registered) -> Value {
    json!({ "id": it.id, "token": it.token, "token_expires_at": null })
}

async fn register(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    let made = runner_door::register(asked.app(), &asked.token, asked.sent.attributes(), &asked.sent.info()).await;
    let made = made.map_err(|error| asked.refused(error))?;
    Ok((StatusCode::CREATED, Json(registered(&made))).into_response())
}

async fn verify(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    let id = runner_door::verify(asked.app(), &asked.token).await.map_err(|error| asked.refused(error))?.id;
    Ok(Json(registered(&Registered { id, token: asked.token })).into_response())
}

async fn unregister(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    runner_door::unregister(asked.app(), &asked.token).await.map_err(|error| asked.refused(error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// One of several processes with one token goes: we do not tell them apart.
async fn leave(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    runner_door::verify(asked.app(), &asked.token).await.map_err(|error| asked.refused(error))?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn reset_token(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    let made = runner_door::reset_token(asked.app(), &asked.token).await.map_err(|error| asked.refused(error))?;
    Ok((StatusCode::CREATED, Json(registered(&made))).into_response())
}

async fn request(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    let got = job::request(asked.app(), &asked.token, &asked.sent.info(), asked.sent.text("last_update")).await;
    let got = got.map_err(|error| asked.refused(error))?;
    Ok(match got {
        Requested::Job(job) => (StatusCode::CREATED, Json(present::v4(&job))).into_response(),
        Requested::Nothing { last_update } | Requested::Paused { last_update } => nothing(&last_update),
    })
}

/// To be said again by the next request.
pub fn nothing(last_update: &str) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(value) = HeaderValue::from_str(last_update) {
        response.headers_mut().insert("x-gitlab-last-update", value);
    }
    response
}

async fn update(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let id = BuildId::from(id);
    let failed = |error: Denied| denied(&context, &parts, error, STATUS);
    let header = build_token(&parts.headers, &TOKEN, None);
    let sent = read_update(&context, &parts, body, id, |token| Key::Build(token), header, failed).await?;
    let token = build_token(&parts.headers, &TOKEN, sent.text("token"));
    let token = token.ok_or_else(|| refused(&context, &parts, forbidden()))?;
    let (key, said) = (Key::Build(token), sent.bytes("trace"));
    let app = &context.app;
    let updated = match sent.text("state") {
        Some("running") | None => runner_door::touch(app, id, key, said).await,
        Some("success") => runner_door::finish(app, id, key, Outcome::Success, said).await,
        Some("failed") => {
            let reason = sent.text("failure_reason").filter(|reason| KNOWN.contains(reason));
            runner_door::finish(app, id, key, Outcome::Failed(reason.unwrap_or("unknown_failure")), said).await
        }
        Some(_) => {
            let text = "state does not have a valid value";
            return Err(ApiError::error(StatusCode::BAD_REQUEST, text).into_response());
        }
    };
    updated.map_err(failed)?;
    Ok(Json(json!("200")).into_response())
}

const KNOWN: [&str; 3] = ["script_failure", "runner_system_failure", "job_execution_timeout"];

async fn trace(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let mut response = append(&context, &parts, body, id.into(), &TOKEN, STATUS).await?;
    response.headers_mut().insert("x-gitlab-trace-update-interval", HeaderValue::from_static("3"));
    Ok(response)
}

async fn upload(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    artifacts::upload(&context, request, id.into(), &TOKEN, STATUS).await
}

async fn download(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    let (parts, _) = request.into_parts();
    artifacts::download(&context, &parts, id.into(), &TOKEN).await
}

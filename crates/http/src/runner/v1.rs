//! The protocol of runners of the 8.x era. Addresses may end in `.json` or `.txt`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, patch, post, put};
use axum::{Json, Router};
use holdfast_app::ci::job::{self, Requested};
use holdfast_app::ci::runner_door::{self, Denied, Key, Outcome};
use holdfast_domain::ids::BuildId;
use serde_json::json;

use super::artifacts;
use super::door::{Answered, Asked, append, forbidden, read_update, refused};
use super::job as present;
use super::v4::nothing;
use crate::Context;
use crate::error::ApiError;
use crate::path::Path;

const TOKEN: [&str; 1] = ["build-token"];
const STATUS: &str = "build-status";

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

pub fn patient() -> Router<Arc<Context>> {
    let mut router = Router::new();
    for ending in ["", ".json"] {
        router = router.route(&format!("/ci/api/v1/builds/register{ending}"), post(request)).route(
            &format!("/ci/api/v1/builds/{{id}}/artifacts{ending}"),
            post(upload).get(download).delete(take_back),
        );
    }
    router
}

fn not_found() -> Response {
    ApiError::message(StatusCode::NOT_FOUND, "404 Not Found").into_response()
}

async fn register(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    let made = runner_door::register(asked.app(), &asked.token, asked.sent.attributes(), &asked.sent.info()).await;
    let made = made.map_err(|error| asked.refused(error))?;
    Ok((StatusCode::CREATED, Json(json!({ "id": made.id, "token": made.token }))).into_response())
}

async fn unregister(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    runner_door::unregister(asked.app(), &asked.token).await.map_err(|error| asked.refused(error))?;
    Ok(Json(json!("200")).into_response())
}

async fn request(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let asked = Asked::read(context, request).await?;
    let got = job::request(asked.app(), &asked.token, &asked.sent.info(), asked.sent.text("last_update")).await;
    let got = got.map_err(|error| asked.refused(error))?;
    Ok(match got {
        Requested::Job(job) => (StatusCode::CREATED, Json(present::v1(&job))).into_response(),
        Requested::Nothing { last_update } if knows_204(&asked.parts.headers) => nothing(&last_update),
        Requested::Nothing { .. } | Requested::Paused { .. } => not_found(),
    })
}

/// Older ones take 204 for a failure.
fn knows_204(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some(rest) = agent.strip_prefix("gitlab-ci-multi-runner ") else { return false };
    let version = rest.split(' ').next().unwrap_or_default();
    version.split('.').filter(|part| part.parse::<u32>().is_ok()).count() >= 3
}

/// With the token of the runner. What it does not have is not there, which is also how a runner asks whether its token is
/// still good.
async fn update(State(context): State<Arc<Context>>, Path(id): Path<String>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let Ok(id) = id.strip_suffix(".json").unwrap_or(&id).parse::<i64>() else {
        return Err(not_found());
    };
    let id = BuildId::from(id);
    let failed = |error: Denied| match error {
        Denied::Unknown => refused(&context, &parts, forbidden()),
        Denied::Over(_) => not_found(),
        Denied::Failed(error) => ApiError::from(error).into_response(),
    };
    let sent = read_update(&context, &parts, body, id, |token| Key::Runner(token), None, failed).await?;
    let token = sent.text("token").ok_or_else(|| refused(&context, &parts, forbidden()))?;
    let (app, key, said) = (&context.app, Key::Runner(token), sent.bytes("trace"));
    let updated = match sent.text("state") {
        Some("success") => runner_door::finish(app, id, key, Outcome::Success, said).await,
        Some("failed") => runner_door::finish(app, id, key, Outcome::Failed("script_failure"), said).await,
        _ => runner_door::touch(app, id, key, said).await,
    };
    updated.map_err(failed)?;
    Ok(Json(json!("200")).into_response())
}

async fn trace(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    append(&context, &parts, body, id.into(), &TOKEN, STATUS).await
}

async fn upload(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    artifacts::upload(&context, request, id.into(), &TOKEN, STATUS).await
}

async fn download(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    let (parts, _) = request.into_parts();
    artifacts::download(&context, &parts, id.into(), &TOKEN).await
}

async fn take_back(State(context): State<Arc<Context>>, Path(id): Path<i64>, request: Request) -> Answered {
    let (parts, _) = request.into_parts();
    artifacts::take_back(&context, &parts, id.into(), &TOKEN, STATUS).await
}

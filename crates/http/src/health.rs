//! For balancers and supervisors.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use holdfast_app::App;

use crate::Context;

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// The process can serve: its database answers and has the schema.
pub async fn ready(State(context): State<Arc<Context>>) -> (StatusCode, &'static str) {
    answer(context.app.clone()).await
}

pub async fn answer(app: Arc<App>) -> (StatusCode, &'static str) {
    match app.database.is_ready().await {
        Ok(true) => (StatusCode::OK, "ready\n"),
        Ok(false) => (StatusCode::SERVICE_UNAVAILABLE, "the schema is behind\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}

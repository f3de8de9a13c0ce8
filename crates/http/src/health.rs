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

/// The process can serve: it is not about to stop, and its database answers and has the schema.
pub async fn ready(State(context): State<Arc<Context>>) -> (StatusCode, &'static str) {
    answer(context.app.clone()).await
}

pub async fn answer(app: Arc<App>) -> (StatusCode, &'static str) {
    if app.is_leaving() {
        return (StatusCode::SERVICE_UNAVAILABLE, "this node is about to stop\n");
    }
    match app.database.is_ready().await {
        Ok(true) => (StatusCode::OK, "ready\n"),
        Ok(false) => (StatusCode::SERVICE_UNAVAILABLE, "the schema is behind\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}

//! Health checks for load balancers and process supervisors.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use holdfast_app::App;

use crate::Context;

/// Responds whenever the process runs.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Responds with 200 if the process can serve requests: it is not shutting down, and the database is available with a
/// current schema.
pub async fn ready(State(context): State<Arc<Context>>) -> (StatusCode, &'static str) {
    readiness(context.app.clone()).await
}

pub async fn readiness(app: Arc<App>) -> (StatusCode, &'static str) {
    if app.shutdown.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n");
    }
    match app.database.is_ready().await {
        Ok(true) => (StatusCode::OK, "ready\n"),
        Ok(false) => (StatusCode::SERVICE_UNAVAILABLE, "database schema is outdated: run `holdfast migrate`\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: database unavailable");
            (StatusCode::SERVICE_UNAVAILABLE, "database unavailable\n")
        }
    }
}

//! The runner protocols: `/api/v4`, used by runners since 9.0, and `/ci/api/v1` of the 8.x series. Both call the same
//! use cases.

mod artifacts;
mod fields;
mod job;
pub mod permits;
mod protocol;
mod requests;
mod v1;
mod v4;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use holdfast_http_core::middleware;

use crate::Context;

pub fn router(context: &Arc<Context>) -> Router<Arc<Context>> {
    // Long polls and transfers of artifacts may exceed the request timeout.
    let timed_routes = v4::router()
        .merge(v1::router())
        .layer(from_fn_with_state(context.service.clone(), middleware::enforce_timeout));
    timed_routes.merge(v4::untimed_router()).merge(v1::untimed_router())
}

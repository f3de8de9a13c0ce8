//! The doors for runners: the protocol of today (`/api/v4`) and that of the 8.x era (`/ci/api/v1`), over the same use
//! cases.

mod artifacts;
mod door;
mod fields;
mod job;
pub mod permits;
mod v1;
mod v4;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::{Context, observe};

pub fn router(context: &Arc<Context>) -> Router<Arc<Context>> {
    // Who waits for work and who sends files takes longer than a request usually may.
    let quick = v4::router().merge(v1::router()).layer(from_fn_with_state(context.clone(), observe::deadline));
    quick.merge(v4::patient()).merge(v1::patient())
}

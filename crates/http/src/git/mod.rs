//! Git over HTTP: the entry point behind a project's `http_url_to_repo`.

mod auth;
mod browser;
mod bundle;
mod info_refs;
mod receive_pack;
mod ref_list;
mod upload_pack;

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::routing::{get, post};

use crate::Context;

pub fn router() -> Router<Arc<Context>> {
    Router::new()
        .route("/{namespace}/{project}/info/refs", get(info_refs::serve))
        .route("/{namespace}/{project}/bundle", get(bundle::serve))
        .route("/{namespace}/{project}/git-upload-pack", post(upload_pack::serve))
        .route("/{namespace}/{project}/git-receive-pack", post(receive_pack::serve))
}

/// Returns the route of a project's URL on a node without the web interface.
pub fn project_url_router() -> Router<Arc<Context>> {
    Router::new().route("/{namespace}/{project}", get(browser::serve))
}

/// Headers that forbid caching, because refs can change at any time.
const NO_CACHE_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, max-age=0, must-revalidate")),
    (header::EXPIRES, HeaderValue::from_static("Fri, 01 Jan 1980 00:00:00 GMT")),
    (header::PRAGMA, HeaderValue::from_static("no-cache")),
];

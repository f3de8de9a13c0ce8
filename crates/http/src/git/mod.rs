//! Git over HTTP, at the address that a project shows as `http_url_to_repo`.

mod browser;
mod bundle;
mod door;
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
        .route("/{namespace}/{project}", get(browser::serve))
        .route("/{namespace}/{project}/info/refs", get(info_refs::serve))
        .route("/{namespace}/{project}/bundle", get(bundle::serve))
        .route("/{namespace}/{project}/git-upload-pack", post(upload_pack::serve))
        .route("/{namespace}/{project}/git-receive-pack", post(receive_pack::serve))
}

/// What refs there are is old the moment it is said.
const NOT_KEPT: [(HeaderName, HeaderValue); 3] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, max-age=0, must-revalidate")),
    (header::EXPIRES, HeaderValue::from_static("Fri, 01 Jan 1980 00:00:00 GMT")),
    (header::PRAGMA, HeaderValue::from_static("no-cache")),
];

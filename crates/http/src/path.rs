//! The parts of a path, with our own response where they cannot be read.

use axum::extract::FromRequestParts;
use axum::extract::rejection::PathRejection;

use crate::error::ApiError;

/// Like [`axum::extract::Path`], but a path that is no text, or whose parts have the wrong type, is an unknown one.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(ApiError))]
pub struct Path<T>(pub T);

impl From<PathRejection> for ApiError {
    fn from(_: PathRejection) -> Self {
        Self::no_route()
    }
}

//! Extracts path parameters, with the API's own error response.

use axum::extract::FromRequestParts;
use axum::extract::rejection::PathRejection;

use crate::error::ApiError;

/// Like [`axum::extract::Path`], but responds 404 if the parameters are not UTF-8 or have the wrong type.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(ApiError))]
pub struct Path<T>(pub T);

impl From<PathRejection> for ApiError {
    fn from(_: PathRejection) -> Self {
        Self::route_not_found()
    }
}

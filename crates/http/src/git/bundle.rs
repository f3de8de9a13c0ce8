//! Downloads of the bundle of a large repository.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::repository::transfer::bundle;

use super::NO_CACHE_HEADERS;
use super::auth::{self, PlainTextError, Service};
use crate::Context;
use crate::path::Path;

/// Serves the bundle of a large repository, which clients find with the `bundle-uri` command.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, PlainTextError> {
    let (parts, _) = request.into_parts();
    let project = auth::project_ref(namespace, &project);
    let actor = auth::authenticate(&context, &parts, &project, Service::UploadPack).await?;
    let repository = auth::open_project(&context, &actor, &project, Service::UploadPack).await?;
    let not_found = || PlainTextError::new(StatusCode::NOT_FOUND, "This project has no bundle at present.");
    let bundle = bundle::find(&context.app, &repository).await?.ok_or_else(not_found)?;
    let content = bundle::open_content(&context.app, &repository, &bundle).await?.ok_or_else(not_found)?;
    let length = [(header::CONTENT_LENGTH, HeaderValue::from(bundle.bytes()))];
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-bundle"))];
    Ok((NO_CACHE_HEADERS, content_type, length, Body::from_stream(content)).into_response())
}

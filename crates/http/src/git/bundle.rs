use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::repository::bundle;

use super::NOT_KEPT;
use super::door::{self, Refusal, Service};
use crate::Context;
use crate::path::Path;

/// The bulk of a large repository, for clients that were told of it.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let actor = door::identify(&context, &parts).await?;
    let opened = door::open(&context, &actor, &door::named(namespace, &project), Service::UploadPack).await?;
    let none = || Refusal::text(StatusCode::NOT_FOUND, "There is no bundle of this project at the moment.");
    let bundle = bundle::find(&context.app, &opened).await?.ok_or_else(none)?;
    let content = bundle::content(&context.app, &opened, &bundle).await?.ok_or_else(none)?;
    let length = [(header::CONTENT_LENGTH, HeaderValue::from(bundle.bytes()))];
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-bundle"))];
    Ok((NOT_KEPT, kind, length, Body::from_stream(content)).into_response())
}

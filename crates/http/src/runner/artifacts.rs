//! Uploads, downloads and deletions of artifacts by builds. Files are streamed and never in memory as a whole.

use std::sync::Arc;

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use holdfast_app::ci::artifact::{self, ArtifactUpload};
use holdfast_app::ci::runner_api::{self, BuildCredential};
use holdfast_domain::ids::BuildId;
use holdfast_http_core::RequestBodyState;

use super::protocol::Protocol;
use super::requests::{HandlerResult, forbidden, query_param, query_token, runner_error_response, throttled_error};
use crate::Context;
use crate::error::ApiError;
use crate::response::{ApiResponse, ResponseContext};
use crate::user_content::ArtifactResponse;

/// Minimum rate of an upload, the same as for a pack. A slower upload is aborted, because others may wait for its
/// permit.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

pub async fn upload(context: &Arc<Context>, request: Request, id: BuildId, protocol: &Protocol) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let query_expire_in = query_param(&parts, "expire_in");
    let from_query = query_token(&parts);
    let Some(token) = protocol.build_token(&parts.headers, from_query.as_deref()).map(str::to_owned) else {
        return Err(throttled_error(context, &parts, forbidden()));
    };
    let app = &context.app;
    // The token is verified first, so that unauthorized clients neither wait for a permit nor hold one.
    let starting = async {
        let build = runner_api::verify_build(app, id, BuildCredential::JobToken(&token)).await?;
        let permit = context.artifact_permits.acquire(app, &build, &parts).await?;
        Ok((artifact::begin_upload(app, id, &token).await?, permit))
    };
    let (mut upload, _permit) = match starting.await {
        Ok(begun) => begun,
        Err(error) => {
            return Err(runner_error_response(context, &parts, error, protocol));
        }
    };
    if let Some(state) = parts.extensions.get::<RequestBodyState>() {
        state.raise_rate(MIN_BYTES_PER_SECOND);
    }
    let mut form = Request::new(body);
    form.headers_mut().clone_from(&parts.headers);
    form.extensions_mut().clone_from(&parts.extensions);
    let received = receive_upload(context, form, &mut upload).await;
    let (name, expire_in) = match received {
        Ok(ReceivedUpload { name: Some(name), expire_in }) => (name, expire_in.or(query_expire_in)),
        Ok(_) => {
            upload.abort(app).await;
            return Err(
                ApiError::message(StatusCode::BAD_REQUEST, "400 Bad request - Missing artifacts file!").into_response()
            );
        }
        Err(error) => {
            upload.abort(app).await;
            return Err(error.into_response());
        }
    };
    let finished = upload.finish(app, &name, expire_in.as_deref()).await;
    finished.map_err(|error| runner_error_response(context, &parts, error, protocol))?;
    Ok((StatusCode::CREATED, axum::Json(serde_json::json!({ "message": "201 Created" }))).into_response())
}

#[derive(Default)]
struct ReceivedUpload {
    name: Option<String>,
    expire_in: Option<String>,
}

const MAX_FIELD_BYTES: usize = 1000;

fn malformed() -> ApiError {
    ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format")
}

async fn receive_upload(
    context: &Context,
    form: Request,
    upload: &mut ArtifactUpload,
) -> Result<ReceivedUpload, ApiError> {
    let mut form = Multipart::from_request(form, &()).await.map_err(|_| malformed())?;
    let mut received = ReceivedUpload::default();
    while let Some(mut field) = form.next_field().await.map_err(|_| malformed())? {
        match (field.name(), field.file_name().map(str::to_owned)) {
            (Some("file"), Some(name)) if received.name.is_none() => {
                while let Some(bytes) = field.chunk().await.map_err(|_| malformed())? {
                    if !upload.write(&context.app, bytes).await? {
                        return Err(ApiError::too_large());
                    }
                }
                received.name = Some(name);
            }
            (Some("expire_in"), None) => {
                let mut text = Vec::new();
                while let Some(bytes) = field.chunk().await.map_err(|_| malformed())? {
                    text.extend_from_slice(&bytes);
                    if text.len() > MAX_FIELD_BYTES {
                        return Err(malformed());
                    }
                }
                received.expire_in = String::from_utf8(text).ok();
            }
            // The parser skips the content of an unread field when the next field is requested.
            _ => {}
        }
    }
    Ok(received)
}

/// Serves the artifacts of a build to a running build of the same pipeline.
pub async fn download(context: &Context, parts: &Parts, id: BuildId, protocol: &Protocol) -> HandlerResult {
    let from_query = query_token(parts);
    let token = protocol.build_token(&parts.headers, from_query.as_deref());
    let token = token.ok_or_else(|| throttled_error(context, parts, forbidden()))?;
    let found = artifact::show_for_build(&context.app, id, token).await;
    let found = found.map_err(|error| throttled_error(context, parts, error))?;
    let response: Response = ArtifactResponse(found).respond(&ResponseContext { url: String::new(), query: &[] });
    Ok(response)
}

/// Deletes the artifacts of a running build, authorized by that build's own token.
pub async fn delete(context: &Context, parts: &Parts, id: BuildId, protocol: &Protocol) -> HandlerResult {
    let from_query = query_token(parts);
    let token = protocol.build_token(&parts.headers, from_query.as_deref());
    let token = token.ok_or_else(|| throttled_error(context, parts, forbidden()))?;
    let result = artifact::delete_own(&context.app, id, token).await;
    result.map_err(|error| runner_error_response(context, parts, error, protocol))?;
    Ok(axum::Json("200").into_response())
}

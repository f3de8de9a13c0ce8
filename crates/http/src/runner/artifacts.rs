//! Files that builds leave and get. They pass through without being held.

use std::sync::Arc;

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use holdfast_app::ci::artifact::{self, Upload};
use holdfast_app::ci::runner_door::{self, Key};
use holdfast_domain::ids::BuildId;

use super::door::{Answered, build_token, denied, forbidden, query, query_token, refused};
use crate::Context;
use crate::answer::{Answer, Facts};
use crate::connection::RequestBodyState;
use crate::error::ApiError;
use crate::stored::Left;

/// An upload that brings less in a second for long is ended: others may wait for its permit. The same as for a pack.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

pub async fn upload(
    context: &Arc<Context>,
    request: Request,
    id: BuildId,
    token_headers: &[&str],
    status_header: &'static str,
) -> Answered {
    let (parts, body) = request.into_parts();
    let query = query(&parts, "expire_in");
    let from_query = query_token(&parts);
    let Some(token) = build_token(&parts.headers, token_headers, from_query.as_deref()).map(str::to_owned) else {
        return Err(refused(context, &parts, forbidden()));
    };
    let app = &context.app;
    // Whoever may not send one waits for nobody, and nobody waits for them.
    let begun = async {
        let build = runner_door::check(app, id, Key::Build(&token)).await?;
        let permit = context.artifacts.acquire(app, &build, &parts).await?;
        Ok((artifact::begin(app, id, &token).await?, permit))
    };
    let (mut upload, _permit) = match begun.await {
        Ok(begun) => begun,
        Err(error) => {
            return Err(denied(context, &parts, error, status_header));
        }
    };
    if let Some(state) = parts.extensions.get::<RequestBodyState>() {
        state.raise_rate(MIN_BYTES_PER_SECOND);
    }
    let mut form = Request::new(body);
    form.headers_mut().clone_from(&parts.headers);
    form.extensions_mut().clone_from(&parts.extensions);
    let taken = take(context, form, &mut upload).await;
    let (name, expire_in) = match taken {
        Ok(Taken { name: Some(name), expire_in }) => (name, expire_in.or(query)),
        Ok(_) => {
            upload.give_up(app).await;
            return Err(
                ApiError::message(StatusCode::BAD_REQUEST, "400 Bad request - Missing artifacts file!").into_response()
            );
        }
        Err(error) => {
            upload.give_up(app).await;
            return Err(error.into_response());
        }
    };
    let finished = upload.finish(app, &name, expire_in.as_deref()).await;
    finished.map_err(|error| denied(context, &parts, error, status_header))?;
    Ok((StatusCode::CREATED, axum::Json(serde_json::json!({ "message": "201 Created" }))).into_response())
}

#[derive(Default)]
struct Taken {
    name: Option<String>,
    expire_in: Option<String>,
}

const LONGEST_FIELD: usize = 1000;

fn malformed() -> ApiError {
    ApiError::error(StatusCode::BAD_REQUEST, "message body does not match declared format")
}

async fn take(context: &Context, form: Request, upload: &mut Upload) -> Result<Taken, ApiError> {
    let mut form = Multipart::from_request(form, &()).await.map_err(|_| malformed())?;
    let mut taken = Taken::default();
    while let Some(mut field) = form.next_field().await.map_err(|_| malformed())? {
        match (field.name(), field.file_name().map(str::to_owned)) {
            (Some("file"), Some(name)) if taken.name.is_none() => {
                while let Some(bytes) = field.chunk().await.map_err(|_| malformed())? {
                    if !upload.write(&context.app, bytes).await? {
                        return Err(ApiError::too_large());
                    }
                }
                taken.name = Some(name);
            }
            (Some("expire_in"), None) => {
                let mut text = Vec::new();
                while let Some(bytes) = field.chunk().await.map_err(|_| malformed())? {
                    text.extend_from_slice(&bytes);
                    if text.len() > LONGEST_FIELD {
                        return Err(malformed());
                    }
                }
                taken.expire_in = String::from_utf8(text).ok();
            }
            // Read to its end when the next one is asked for.
            _ => {}
        }
    }
    Ok(taken)
}

/// For a build that runs, what one of its pipeline left.
pub async fn download(context: &Context, parts: &Parts, id: BuildId, token_headers: &[&str]) -> Answered {
    let from_query = query_token(parts);
    let headers: &HeaderMap = &parts.headers;
    let token = build_token(headers, token_headers, from_query.as_deref());
    let token = token.ok_or_else(|| refused(context, parts, forbidden()))?;
    let found = artifact::for_build(&context.app, id, token).await;
    let found = found.map_err(|error| refused(context, parts, error))?;
    let answer: Response = Left(found).respond(&Facts { url: String::new(), query: &[] });
    Ok(answer)
}

/// The build that left it wants it no more.
pub async fn take_back(
    context: &Context,
    parts: &Parts,
    id: BuildId,
    token_headers: &[&str],
    status_header: &'static str,
) -> Answered {
    let from_query = query_token(parts);
    let token = build_token(&parts.headers, token_headers, from_query.as_deref());
    let token = token.ok_or_else(|| refused(context, parts, forbidden()))?;
    let gone = artifact::take_back(&context.app, id, token).await;
    gone.map_err(|error| denied(context, parts, error, status_header))?;
    Ok(axum::Json("200").into_response())
}

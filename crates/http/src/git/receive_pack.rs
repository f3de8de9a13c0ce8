//! Serves pushes: the `git-receive-pack` service.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::repository::transfer::push;
use holdfast_domain::repository::RefUpdateChannel;
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;
use tracing::Instrument;

use super::NO_CACHE_HEADERS;
use super::auth::{self, GitRequest, PlainTextError, Service};
use crate::Context;
use crate::path::Path;

/// Size of the buffer between the push and the response to the client.
const BUFFER_SIZE: usize = 64 << 10;

/// Receives a push. The response begins while the pack is still being received.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path(path): Path<(String, String)>,
    request: Request,
) -> Result<Response, PlainTextError> {
    let GitRequest { actor, repository, mut input, .. } =
        auth::accept_rpc(&context, path, request, Service::ReceivePack).await?;
    let (mut writer, reader) = tokio::io::duplex(BUFFER_SIZE);
    let app = context.app.clone();
    let work = async move {
        if let Err(error) =
            push::receive(&app, &actor, repository, RefUpdateChannel::Http, &mut input, &mut writer).await
        {
            tracing::info!(%error, "push aborted before its report was sent");
        }
        writer.shutdown().await.ok();
    };
    tokio::spawn(work.instrument(tracing::Span::current()));
    Ok((NO_CACHE_HEADERS, [CONTENT_TYPE], Body::from_stream(ReaderStream::with_capacity(reader, BUFFER_SIZE)))
        .into_response())
}

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-receive-pack-result"));

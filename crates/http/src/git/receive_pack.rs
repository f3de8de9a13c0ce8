use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::repository::push;
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;
use tracing::Instrument;

use super::NOT_KEPT;
use super::door::{self, Refusal, Service, Visit};
use crate::Context;
use crate::path::Path;

/// Between what we say and what the client has heard.
const BUFFER: usize = 64 << 10;

/// The answer begins while the pack is still coming.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path(path): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let Visit { actor, opened, mut input, .. } = door::enter(&context, path, request, Service::ReceivePack).await?;
    let (mut ours, theirs) = tokio::io::duplex(BUFFER);
    let app = context.app.clone();
    let work = async move {
        if let Err(error) = push::receive(&app, &actor, opened, "http", &mut input, &mut ours).await {
            tracing::info!(%error, "a push broke off");
        }
        ours.shutdown().await.ok();
    };
    tokio::spawn(work.instrument(tracing::Span::current()));
    Ok((NOT_KEPT, [CONTENT_TYPE], Body::from_stream(ReaderStream::with_capacity(theirs, BUFFER))).into_response())
}

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-receive-pack-result"));

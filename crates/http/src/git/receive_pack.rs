use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::repository::push;
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;
use tracing::Instrument;

use super::NOT_KEPT;
use super::door::{self, Refusal, Service};
use crate::Context;

/// Between what we say and what the client has heard.
const BUFFER: usize = 64 << 10;

/// The answer begins while the pack is still coming.
pub async fn serve(
    State(context): State<Arc<Context>>,
    Path((namespace, project)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    if !door::has_type(&parts, "application/x-git-receive-pack-request") {
        return Err(Refusal::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is no request of git's."));
    }
    let mut input = door::input(&parts, body)?;
    let attempt = async {
        let actor = door::identify(&context, &parts).await?;
        let opened = door::open(&context, &actor, &door::named(namespace, &project), Service::ReceivePack).await?;
        Ok((actor, opened))
    };
    let (actor, opened) = match attempt.await {
        Ok(allowed) => allowed,
        Err(refusal) => {
            door::read_to_end(&mut input).await;
            return Err(refusal);
        }
    };
    let (mut ours, theirs) = tokio::io::duplex(BUFFER);
    let app = context.app.clone();
    let work = async move {
        if let Err(error) = push::receive(&app, &actor, opened, "http", &mut input, &mut ours).await {
            tracing::info!(%error, "a push broke off");
        }
        // Whoever is still sending does not hear the answer.
        door::read_to_end(&mut input).await;
        ours.shutdown().await.ok();
    };
    tokio::spawn(work.instrument(tracing::Span::current()));
    Ok((NOT_KEPT, [CONTENT_TYPE], Body::from_stream(ReaderStream::with_capacity(theirs, BUFFER))).into_response())
}

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-receive-pack-result"));

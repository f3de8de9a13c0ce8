//! Serves fetches: the `git-upload-pack` service.

use std::io::ErrorKind;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use holdfast_app::Error;
use holdfast_app::client::{ClientKey, KeyedPermit};
use holdfast_app::repository::transfer::bundle;
use holdfast_app::repository::transfer::fetch;
use holdfast_app::repository::transfer::request_reader::{MAX_REQUEST_BYTES, RequestReader};
use holdfast_git::pkt::PacketWriter;
use holdfast_git::protocol::upload::{self, Request as Asked};
use holdfast_git::protocol::{Version, advertisement};
use tokio::time::timeout;

use super::NO_CACHE_HEADERS;
use super::auth::{self, GitRequest, Input, PlainTextError, Service};
use super::ref_list::RefListResponse;
use crate::Context;
use crate::path::Path;

pub async fn serve(
    State(context): State<Arc<Context>>,
    Path(path): Path<(String, String)>,
    request: Request,
) -> Result<Response, PlainTextError> {
    let GitRequest { repository, version, input, .. } =
        auth::accept_rpc(&context, path, request, Service::UploadPack).await?;
    let (request, _permit) = read_request(&context, repository.client, version, input).await?;
    let body = match request {
        None => Body::empty(),
        Some(Asked::LsRefs(request)) => {
            let merge_request_heads = repository.find_merge_request_heads(&context.app, &request).await?;
            RefListResponse::LsRefs(request, merge_request_heads).into_body(&context, repository).await
        }
        Some(Asked::BundleUri) => {
            let bundle = bundle::find(&context.app, &repository).await?;
            Body::from(advertisement::bundle_list(bundle.map(|_| "./bundle")).freeze())
        }
        Some(Asked::Fetch(fetch)) => match fetch::serve(&context.app, &repository, version, fetch).await {
            Ok(content) => Body::from_stream(content),
            Err(Error::Rejected(text)) => Body::from(error_packet(&text)),
            Err(error) => return Err(error.into()),
        },
    };
    Ok((NO_CACHE_HEADERS, [CONTENT_TYPE], body).into_response())
}

/// Reads a request of git. A long request comes with a permit, which the caller holds until the response is ready.
async fn read_request(
    context: &Context,
    client: ClientKey,
    version: Version,
    input: Input,
) -> Result<(Option<Asked>, Option<KeyedPermit>), PlainTextError> {
    let timed_out = |_| PlainTextError::new(StatusCode::REQUEST_TIMEOUT, "The request did not arrive in time.");
    let request_timeout = context.app.settings.git.request_timeout;
    let mut reader = RequestReader::new(&context.app, client, input);
    let reading = async {
        match version {
            Version::V2 => upload::read_v2(&mut reader, MAX_REQUEST_BYTES).await,
            _ => upload::read_v0(&mut reader, MAX_REQUEST_BYTES).await.map(|fetch| fetch.map(Asked::Fetch)),
        }
    };
    let request = timeout(request_timeout, reading).await.map_err(timed_out)?.map_err(read_error)?;
    Ok((request, reader.into_permit()))
}

/// Converts an error of reading a request. A body that does not match its encoding is a protocol error of the client;
/// errors of a client that disconnected or stalled keep their kind.
fn read_error(error: holdfast_git::Error) -> Error {
    match error {
        holdfast_git::Error::Io(cause)
            if !matches!(cause.kind(), ErrorKind::ConnectionAborted | ErrorKind::TimedOut) =>
        {
            holdfast_git::Error::protocol("malformed request").into()
        }
        error => error.into(),
    }
}

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-upload-pack-result"));

fn error_packet(text: &str) -> bytes::Bytes {
    let mut buffer = BytesMut::new();
    buffer.put_packet(format!("ERR {text}").as_bytes());
    buffer.freeze()
}

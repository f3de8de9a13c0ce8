use std::io::ErrorKind;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use holdfast_app::Error;
use holdfast_app::client::{ClientKey, KeyedPermit};
use holdfast_app::repository::bundle;
use holdfast_app::repository::fetch;
use holdfast_app::repository::request_reader::{MAX_REQUEST_BYTES, RequestReader};
use holdfast_git::pkt::Write;
use holdfast_git::protocol::upload::{self, Request as Asked};
use holdfast_git::protocol::{Version, advertisement};
use tokio::time::timeout;

use super::NOT_KEPT;
use super::door::{self, Input, Refusal, Service, Visit};
use super::ref_list::RefList;
use crate::Context;
use crate::path::Path;

pub async fn serve(
    State(context): State<Arc<Context>>,
    Path(path): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let Visit { opened, version, input, .. } = door::enter(&context, path, request, Service::UploadPack).await?;
    let (request, _permit) = read_request(&context, opened.client, version, input).await?;
    let body = match request {
        None => Body::empty(),
        Some(Asked::LsRefs(request)) => RefList::LsRefs(request).into_body(&context, opened).await,
        Some(Asked::Bundles) => {
            let bundle = bundle::find(&context.app, &opened).await?;
            Body::from(advertisement::bundle_list(bundle.map(|_| "./bundle")).freeze())
        }
        Some(Asked::Fetch(fetch)) => match fetch::answer(&context.app, &opened, version, fetch).await {
            Ok(answer) => Body::from_stream(answer),
            Err(Error::Refused(text)) => Body::from(refusal(&text)),
            Err(error) => return Err(error.into()),
        },
    };
    Ok((NOT_KEPT, [CONTENT_TYPE], body).into_response())
}

/// Reads a request of git. A long one comes with a permit that is to be held until it is answered.
async fn read_request(
    context: &Context,
    client: ClientKey,
    version: Version,
    input: Input,
) -> Result<(Option<Asked>, Option<KeyedPermit>), Refusal> {
    let late = |_| Refusal::text(StatusCode::REQUEST_TIMEOUT, "The request did not arrive in time.");
    let within = context.app.settings.git.request_timeout;
    let mut reader = RequestReader::new(&context.app, client, input);
    let reading = async {
        match version {
            Version::V2 => upload::read_v2(&mut reader, MAX_REQUEST_BYTES).await,
            _ => upload::read_v0(&mut reader, MAX_REQUEST_BYTES).await.map(|fetch| fetch.map(Asked::Fetch)),
        }
    };
    let request = timeout(within, reading).await.map_err(late)?.map_err(unreadable)?;
    Ok((request, reader.into_permit()))
}

/// Returns why a request cannot be read. That it is not what its encoding says is the client's fault. That the client went
/// away or stopped is told from the kind of the error.
fn unreadable(error: holdfast_git::Error) -> Error {
    match error {
        holdfast_git::Error::Io(cause)
            if !matches!(cause.kind(), ErrorKind::ConnectionAborted | ErrorKind::TimedOut) =>
        {
            holdfast_git::Error::protocol("the request cannot be read").into()
        }
        error => error.into(),
    }
}

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-upload-pack-result"));

fn refusal(text: &str) -> bytes::Bytes {
    let mut buffer = BytesMut::new();
    buffer.packet(format!("ERR {text}").as_bytes());
    buffer.freeze()
}

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use holdfast_app::Error;
use holdfast_app::client::ClientKey;
use holdfast_app::repository::bundle;
use holdfast_app::repository::fetch::{self, LONGEST_REQUEST};
use holdfast_git::pkt::Write;
use holdfast_git::protocol::upload::{self, Request as Asked};
use holdfast_git::protocol::{Version, advertisement};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::NOT_KEPT;
use super::door::{self, Input, Refusal, Service, Visit};
use super::ref_list::RefList;
use crate::Context;
use crate::path::Path;

/// Requests up to this size need no permit while they are read: nearly all are shorter.
const MAX_SMALL_REQUEST_BYTES: u64 = 64 << 10;

pub async fn serve(
    State(context): State<Arc<Context>>,
    Path(path): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let Visit { opened, version, input, .. } = door::enter(&context, path, request, Service::UploadPack).await?;
    let body = match read_request(&context, opened.client, version, input).await? {
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

/// Reads a request of git. A permit is taken only for the rest of a long one, when much of it has arrived, so that clients
/// that do not send what they announced keep nobody waiting.
async fn read_request(
    context: &Context,
    client: ClientKey,
    version: Version,
    mut input: Input,
) -> Result<Option<Asked>, Refusal> {
    let late = |_| Refusal::text(StatusCode::REQUEST_TIMEOUT, "The request did not arrive in time.");
    let within = context.app.settings.git.request_timeout;
    let mut begin = Vec::new();
    let mut small = (&mut input).take(MAX_SMALL_REQUEST_BYTES);
    let count = timeout(within, small.read_to_end(&mut begin)).await.map_err(late)?;
    let count = count.map_err(|error| Error::from(holdfast_git::Error::from(error)))?;
    let _permit = match count as u64 == MAX_SMALL_REQUEST_BYTES {
        true => Some(context.git_requests.acquire(client).await),
        false => None,
    };
    let mut input = begin.as_slice().chain(input);
    let reading = async {
        match version {
            Version::V2 => upload::read_v2(&mut input, LONGEST_REQUEST).await,
            _ => upload::read_v0(&mut input, LONGEST_REQUEST).await.map(|fetch| fetch.map(Asked::Fetch)),
        }
    };
    Ok(timeout(within, reading).await.map_err(late)?.map_err(Error::from)?)
}

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-upload-pack-result"));

fn refusal(text: &str) -> bytes::Bytes {
    let mut buffer = BytesMut::new();
    buffer.packet(format!("ERR {text}").as_bytes());
    buffer.freeze()
}

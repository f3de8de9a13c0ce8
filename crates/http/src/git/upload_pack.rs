use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use holdfast_app::Error;
use holdfast_app::repository::bundle;
use holdfast_app::repository::fetch::{self, LONGEST_REQUEST};
use holdfast_git::pkt::Write;
use holdfast_git::protocol::upload::{self, Request as Asked};
use holdfast_git::protocol::{Version, advertisement};

use super::NOT_KEPT;
use super::door::{self, Refusal, Service, Visit};
use crate::Context;

const READ_WITHIN: Duration = Duration::from_secs(60);

pub async fn serve(
    State(context): State<Arc<Context>>,
    Path(path): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let Visit { opened, version, mut input, .. } = door::enter(&context, path, request, Service::UploadPack).await?;
    let read = async {
        let _turn = context.git_requests.acquire().await.ok();
        match version {
            Version::V2 => upload::read_v2(&mut input, LONGEST_REQUEST).await,
            _ => upload::read_v0(&mut input, LONGEST_REQUEST).await.map(|fetch| fetch.map(Asked::Fetch)),
        }
    };
    let late = || Refusal::text(StatusCode::REQUEST_TIMEOUT, "The request did not arrive in time.");
    let asked = tokio::time::timeout(READ_WITHIN, read).await.map_err(|_| late())?;
    let body = match asked.map_err(Error::from)? {
        None => Body::empty(),
        Some(Asked::LsRefs(request)) => Body::from(opened.list_refs(&request).freeze()),
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

const CONTENT_TYPE: (HeaderName, HeaderValue) =
    (header::CONTENT_TYPE, HeaderValue::from_static("application/x-git-upload-pack-result"));

fn refusal(text: &str) -> bytes::Bytes {
    let mut buffer = BytesMut::new();
    buffer.packet(format!("ERR {text}").as_bytes());
    buffer.freeze()
}

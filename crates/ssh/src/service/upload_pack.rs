use bytes::BytesMut;
use holdfast_app::client::KeyedPermit;
use holdfast_app::repository::bundle;
use holdfast_app::repository::fetch::{self, Opened};
use holdfast_app::repository::request_reader::{MAX_REQUEST_BYTES, RequestReader, within_request_timeout};
use holdfast_app::{Error, Result};
use holdfast_git::pkt::Write;
use holdfast_git::protocol::upload::{self, Request};
use holdfast_git::protocol::{Version, advertisement};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

use super::copy;
use crate::Context;

pub async fn serve(
    context: &Context,
    opened: &Opened,
    version: Version,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    let served = match version {
        Version::V2 => serve_requests(context, opened, version, input, output).await,
        _ => fetch::converse(&context.app, opened, version, input, output).await,
    };
    if let Err(Error::Refused(text)) = &served {
        let mut refusal = BytesMut::new();
        refusal.packet(format!("ERR {text}").as_bytes());
        output.write_all(&refusal).await?;
    }
    served
}

/// Serves the requests of version 2, one after the other.
async fn serve_requests(
    context: &Context,
    opened: &Opened,
    version: Version,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    opened.advertise_upload(version, false, output).await?;
    output.flush().await?;
    while let Some((request, _permit)) = read_request(context, opened, input).await? {
        match request {
            Request::LsRefs(request) => opened.list_refs(&request, output).await?,
            Request::Bundles => output.write_all(&bundles(context, opened).await?).await?,
            Request::Fetch(request) => {
                let answer = fetch::answer(&context.app, opened, version, request).await?;
                copy(answer, output).await?;
            }
        }
        output.flush().await?;
    }
    Ok(())
}

/// Reads the next request of version 2; `None` at the end. A request that has begun must be complete soon.
async fn read_request(
    context: &Context,
    opened: &Opened,
    input: &mut (impl AsyncBufRead + Unpin),
) -> Result<Option<(Request, Option<KeyedPermit>)>> {
    input.fill_buf().await?;
    let mut reader = RequestReader::new(&context.app, opened.client, input);
    let request = within_request_timeout(&context.app, upload::read_v2(&mut reader, MAX_REQUEST_BYTES)).await??;
    Ok(request.map(|request| (request, reader.into_permit())))
}

/// They come over HTTP, also to who comes here.
async fn bundles(context: &Context, opened: &Opened) -> Result<BytesMut> {
    let bundle = bundle::find(&context.app, opened).await?;
    let address = context.app.settings.site.url(&format!("/{}.git/bundle", opened.project.full_path()));
    Ok(advertisement::bundle_list(bundle.map(|_| address.as_str())))
}

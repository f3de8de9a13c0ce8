use bytes::BytesMut;
use holdfast_app::repository::bundle;
use holdfast_app::repository::fetch::{self, LONGEST_REQUEST, Opened};
use holdfast_app::{Error, Result};
use holdfast_git::pkt::Write;
use holdfast_git::protocol::upload::{self, Request};
use holdfast_git::protocol::{Version, advertisement};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::copy;
use crate::Context;

pub async fn serve(
    context: &Context,
    opened: &Opened,
    version: Version,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    if version != Version::V2 {
        return fetch::converse(&context.app, opened, version, input, output).await;
    }
    opened.advertise_upload(version, false, output).await?;
    output.flush().await?;
    while let Some(request) = read_request(context, input).await? {
        match request {
            Request::LsRefs(request) => opened.list_refs(&request, output).await?,
            Request::Bundles => output.write_all(&bundles(context, opened).await?).await?,
            Request::Fetch(request) => match fetch::answer(&context.app, opened, version, request).await {
                Ok(answer) => copy(answer, output).await?,
                Err(Error::Refused(text)) => {
                    let mut refusal = BytesMut::new();
                    refusal.packet(format!("ERR {text}").as_bytes());
                    output.write_all(&refusal).await?;
                    return Err(Error::Refused(text));
                }
                Err(error) => return Err(error),
            },
        }
        output.flush().await?;
    }
    Ok(())
}

/// Reads the next request of version 2; `None` at the end. A request that has begun must be complete soon.
async fn read_request(context: &Context, input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Request>> {
    input.fill_buf().await?;
    let reading = timeout(context.app.settings.git.request_timeout, upload::read_v2(input, LONGEST_REQUEST));
    let late = |_| holdfast_git::Error::protocol("the request did not arrive in time");
    Ok(reading.await.map_err(late)??)
}

/// They come over HTTP, also to who comes here.
async fn bundles(context: &Context, opened: &Opened) -> Result<BytesMut> {
    let bundle = bundle::find(&context.app, opened).await?;
    let address = context.app.settings.site.url(&format!("/{}.git/bundle", opened.project.full_path()));
    Ok(advertisement::bundle_list(bundle.map(|_| address.as_str())))
}

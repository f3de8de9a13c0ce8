//! Serves fetches: the `git-upload-pack` service.

use bytes::BytesMut;
use holdfast_app::client::KeyedPermit;
use holdfast_app::repository::open_repository::OpenRepository;
use holdfast_app::repository::transfer::bundle;
use holdfast_app::repository::transfer::fetch;
use holdfast_app::repository::transfer::request_reader::{MAX_REQUEST_BYTES, RequestReader, within_request_timeout};
use holdfast_app::{Error, Result};
use holdfast_git::pkt::PacketWriter;
use holdfast_git::protocol::upload::{self, Request};
use holdfast_git::protocol::{Version, advertisement};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

use super::copy_content;
use crate::Context;

/// Serves a fetch.
pub async fn serve(
    context: &Context,
    repository: &OpenRepository,
    version: Version,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    let served = match version {
        Version::V2 => serve_requests(context, repository, version, input, output).await,
        _ => fetch::serve_stateful(&context.app, repository, version, input, output).await,
    };
    if let Err(Error::Rejected(text)) = &served {
        let mut error_packet = BytesMut::new();
        error_packet.put_packet(format!("ERR {text}").as_bytes());
        output.write_all(&error_packet).await?;
    }
    served
}

/// Serves the requests of a protocol version 2 session one after the other.
async fn serve_requests(
    context: &Context,
    repository: &OpenRepository,
    version: Version,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    repository.advertise_upload_pack(version, false, output).await?;
    output.flush().await?;
    while let Some((request, _permit)) = read_request(context, repository, input).await? {
        match request {
            Request::LsRefs(request) => {
                let merge_request_heads = repository.find_merge_request_heads(&context.app, &request).await?;
                repository.list_refs(&request, &merge_request_heads, output).await?;
            }
            Request::BundleUri => output.write_all(&bundle_list(context, repository).await?).await?,
            Request::Fetch(request) => {
                let content = fetch::serve(&context.app, repository, version, request).await?;
                copy_content(content, output).await?;
            }
        }
        output.flush().await?;
    }
    Ok(())
}

/// Reads the next request of protocol version 2. Returns `None` at the end of the input. The request timeout starts
/// with the first byte of a request.
async fn read_request(
    context: &Context,
    repository: &OpenRepository,
    input: &mut (impl AsyncBufRead + Unpin),
) -> Result<Option<(Request, Option<KeyedPermit>)>> {
    input.fill_buf().await?;
    let mut reader = RequestReader::new(&context.app, repository.client, input);
    let request = within_request_timeout(&context.app, upload::read_v2(&mut reader, MAX_REQUEST_BYTES)).await??;
    Ok(request.map(|request| (request, reader.into_permit())))
}

/// Returns the list of bundles. Bundles are downloaded over HTTP even if the client uses SSH.
async fn bundle_list(context: &Context, repository: &OpenRepository) -> Result<BytesMut> {
    let bundle = bundle::find(&context.app, repository).await?;
    let url = context.app.settings.site.url(&format!("/{}.git/bundle", repository.project.full_path()));
    Ok(advertisement::bundle_list(bundle.map(|_| url.as_str())))
}

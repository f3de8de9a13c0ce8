//! Serves archives: the `git-upload-archive` service.

use holdfast_app::repository::browse::archive;
use holdfast_app::repository::open_repository::OpenRepository;
use holdfast_app::repository::transfer::request_reader::within_request_timeout;
use holdfast_app::{Error, Result};
use holdfast_git::protocol::archive::{error_response, read_request};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::copy_content;
use crate::Context;

/// Serves an archive of a commit.
pub async fn serve(
    context: &Context,
    repository: &OpenRepository,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    let read = within_request_timeout(&context.app, read_request(input)).await;
    let content = match read.and_then(|read| Ok(read?)) {
        Ok(None) => return Ok(()),
        Ok(Some(request)) => archive::serve(&context.app, repository, &request).await,
        Err(error) => Err(error),
    };
    match content {
        Ok(answer) => copy_content(answer, output).await,
        Err(Error::Rejected(text) | Error::Git(holdfast_git::Error::Protocol(text))) => {
            output.write_all(&error_response(&text)).await?;
            Err(Error::Rejected(text))
        }
        Err(error) => Err(error),
    }
}

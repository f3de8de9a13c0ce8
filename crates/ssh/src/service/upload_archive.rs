use holdfast_app::repository::archive;
use holdfast_app::repository::fetch::Opened;
use holdfast_app::repository::request_reader::within_request_timeout;
use holdfast_app::{Error, Result};
use holdfast_git::protocol::archive::{read_request, refusal};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::copy;
use crate::Context;

pub async fn serve(
    context: &Context,
    opened: &Opened,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    let read = within_request_timeout(&context.app, read_request(input)).await;
    let answer = match read.and_then(|read| Ok(read?)) {
        Ok(None) => return Ok(()),
        Ok(Some(request)) => archive::answer(&context.app, opened, &request).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(answer) => copy(answer, output).await,
        Err(Error::Refused(text) | Error::Git(holdfast_git::Error::Protocol(text))) => {
            output.write_all(&refusal(&text)).await?;
            Err(Error::Refused(text))
        }
        Err(error) => Err(error),
    }
}

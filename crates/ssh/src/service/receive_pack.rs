//! Serves pushes: the `git-receive-pack` service.

use std::time::Duration;

use holdfast_app::repository::open_repository::OpenRepository;
use holdfast_app::repository::transfer::push;
use holdfast_app::{Actor, Result};
use holdfast_domain::repository::RefUpdateChannel;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::Context;

/// Serves a push.
pub async fn serve(
    context: &Context,
    actor: &Actor,
    repository: OpenRepository,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    repository.advertise_receive_pack(output).await?;
    output.flush().await?;
    // The request timeout starts with the first byte of the request: before it, the client may run hooks of its own.
    input.fill_buf().await?;
    let channel = match actor {
        Actor::DeployKey(_) => RefUpdateChannel::DeployKey,
        Actor::Anonymous(_) | Actor::Operator | Actor::User(_) => RefUpdateChannel::Ssh,
    };
    push::receive(&context.app, actor, repository, channel, input, output).await?;
    drain_input(input).await;
    Ok(())
}

const MAX_DRAINED_BYTES: usize = 64 << 20;
/// How long to wait for further input before the client is considered done. A client that has read the report sends
/// nothing more. Arbitrary.
const DRAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Discards the rest of the input. A client that is still sending would not read the report otherwise.
async fn drain_input(input: &mut (impl AsyncRead + Unpin)) {
    let mut buffer = vec![0; super::BUFFER_SIZE];
    let mut drained_bytes = 0;
    while let Ok(Ok(count @ 1..)) = timeout(DRAIN_IDLE_TIMEOUT, input.read(&mut buffer)).await
        && drained_bytes < MAX_DRAINED_BYTES
    {
        drained_bytes += count;
    }
}

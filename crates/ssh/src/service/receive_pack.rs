use std::time::Duration;

use holdfast_app::repository::fetch::Opened;
use holdfast_app::repository::push;
use holdfast_app::{Actor, Result};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::Context;

pub async fn serve(
    context: &Context,
    actor: &Actor,
    opened: Opened,
    input: &mut (impl AsyncBufRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    opened.advertise_receive(output).await?;
    output.flush().await?;
    // What a client does before it says what it pushes, such as a hook of its own, may take longer than to say it.
    input.fill_buf().await?;
    push::receive(&context.app, actor, opened, "ssh", input, output).await?;
    read_the_rest(input).await;
    Ok(())
}

const MOST: usize = 64 << 20;
/// Of a client that has heard the report and waits for the end.
const SILENCE: Duration = Duration::from_secs(1);

/// Whoever is still sending does not hear the report.
async fn read_the_rest(input: &mut (impl AsyncRead + Unpin)) {
    let mut buffer = vec![0; super::BUFFER];
    let mut seen = 0;
    while let Ok(Ok(count @ 1..)) = timeout(SILENCE, input.read(&mut buffer)).await
        && seen < MOST
    {
        seen += count;
    }
}

//! What git makes of one whole request, as it comes.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use holdfast_git::program::{Command, Running, read_said};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;

use crate::Result;

/// It ends well only if git did. When it is dropped, git ends.
pub type Source = BoxStream<'static, io::Result<Bytes>>;

const CHUNK: usize = 64 << 10;
/// A buffer with less room than this is not worth another read.
const LEAST: usize = 16 << 10;

struct Output<H> {
    stdout: ChildStdout,
    said: JoinHandle<Vec<u8>>,
    /// Small pieces share one allocation, so that what is kept of them is no larger than it looks.
    buffer: BytesMut,
    running: Running,
    /// What must stay while git answers.
    _held: H,
}

pub fn start<H: Send + 'static>(command: Command, request: Bytes, held: H) -> Result<Source> {
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    let said = tokio::spawn(read_said(stderr));
    tokio::spawn(async move {
        // It need not read to the end.
        stdin.write_all(&request).await.ok();
    });
    let output = Output { stdout, said, buffer: BytesMut::new(), running, _held: held };
    Ok(stream::try_unfold(output, next).boxed())
}

async fn next<H>(mut output: Output<H>) -> io::Result<Option<(Bytes, Output<H>)>> {
    if output.buffer.capacity() < LEAST {
        output.buffer.reserve(CHUNK);
    }
    if output.stdout.read_buf(&mut output.buffer).await? > 0 {
        return Ok(Some((output.buffer.split().freeze(), output)));
    }
    let said = output.said.await.unwrap_or_default();
    output.running.succeeded(&said).await.map_err(io::Error::other)?;
    Ok(None)
}

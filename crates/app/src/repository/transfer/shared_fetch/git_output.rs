//! The output of one git process as a stream.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use holdfast_git::process::{Command, GitProcess, read_stderr_tail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;

use crate::Result;

/// The output of git in chunks. It ends without an error only if git succeeded. Dropping it ends git.
pub type GitOutput = BoxStream<'static, io::Result<Bytes>>;

const CHUNK_SIZE: usize = 64 << 10;
/// A buffer with less free capacity than this is enlarged before the next read.
const MIN_READ_CAPACITY: usize = 16 << 10;

struct OutputState<H> {
    stdout: ChildStdout,
    stderr_tail: JoinHandle<Vec<u8>>,
    /// Small chunks share one allocation, so that retained chunks take little more memory than their length.
    buffer: BytesMut,
    process: GitProcess,
    /// What must live as long as git runs.
    _guard: H,
}

pub fn start_git<H: Send + 'static>(command: Command, request: Bytes, guard: H) -> Result<GitOutput> {
    let mut process = command.start()?;
    let (mut stdin, stdout, stderr) = process.take_pipes();
    let stderr_tail = tokio::spawn(read_stderr_tail(stderr));
    tokio::spawn(async move {
        // Git may exit before it has read the whole request, so write errors are ignored.
        stdin.write_all(&request).await.ok();
    });
    let output = OutputState { stdout, stderr_tail, buffer: BytesMut::new(), process, _guard: guard };
    Ok(stream::try_unfold(output, next).boxed())
}

async fn next<H>(mut output: OutputState<H>) -> io::Result<Option<(Bytes, OutputState<H>)>> {
    if output.buffer.capacity() < MIN_READ_CAPACITY {
        output.buffer.reserve(CHUNK_SIZE);
    }
    if output.stdout.read_buf(&mut output.buffer).await? > 0 {
        return Ok(Some((output.buffer.split().freeze(), output)));
    }
    let stderr_tail = output.stderr_tail.await.unwrap_or_default();
    output.process.wait_success(&stderr_tail).await.map_err(io::Error::other)?;
    Ok(None)
}

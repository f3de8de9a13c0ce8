//! Requests of git while they are read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::{ClientKey, KeyedPermit};
use crate::{App, Result};

/// The maximum size of a fetch request, which is in memory until it is answered. 100,000 refs are asked for in 5 MB.
pub const MAX_REQUEST_BYTES: usize = 8 << 20;

/// A request up to this size needs no permit while it is read: nearly all are shorter.
const MAX_SMALL_REQUEST_BYTES: usize = 64 << 10;

/// Reads a request, and waits for a permit of its client when much of it has arrived: long requests are in memory, and
/// clients that do not send what they announced keep nobody waiting.
pub struct RequestReader<'a, R> {
    input: R,
    bytes: usize,
    acquire: Option<BoxFuture<'a, KeyedPermit>>,
    permit: Option<KeyedPermit>,
}

impl<'a, R> RequestReader<'a, R> {
    pub fn new(app: &'a App, client: ClientKey, input: R) -> Self {
        let acquire = app.engine.long_requests.acquire(client).boxed();
        Self { input, bytes: 0, acquire: Some(acquire), permit: None }
    }

    /// Returns the permit that the request needed, which is to be held until it is answered.
    pub fn into_permit(self) -> Option<KeyedPermit> {
        self.permit
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for RequestReader<'_, R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.bytes >= MAX_SMALL_REQUEST_BYTES
            && let Some(acquire) = &mut this.acquire
        {
            this.permit = Some(ready!(acquire.poll_unpin(context)));
            this.acquire = None;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.input).poll_read(context, buffer))?;
        this.bytes += buffer.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

/// Gives a client the configured time for a request that has begun.
pub async fn within_request_timeout<T>(app: &App, reading: impl Future<Output = T>) -> Result<T> {
    let late = |_| holdfast_git::Error::protocol("the request did not arrive in time");
    Ok(tokio::time::timeout(app.engine.settings.request_timeout, reading).await.map_err(late)?)
}

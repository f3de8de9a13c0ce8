//! Reads git requests within limits of memory and time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, ReadBuf};

use crate::client::{ClientKey, KeyedPermit};
use crate::{App, Result};

/// The maximum size of a fetch request, which is in memory until it has been served. A request for 100,000 refs
/// has 5 MB.
pub const MAX_REQUEST_BYTES: usize = 8 << 20;

/// A request up to this size needs no permit while it is read: nearly all are shorter.
const MAX_SMALL_REQUEST_BYTES: usize = 64 << 10;

/// A reader of a request that waits for a permit of its client once much of the request has arrived: long requests are
/// in memory. Clients that announce a request and do not send it hold no permits.
pub struct RequestReader<'a, R> {
    input: R,
    bytes: usize,
    acquire: Option<BoxFuture<'a, KeyedPermit>>,
    permit: Option<KeyedPermit>,
}

impl<'a, R> RequestReader<'a, R> {
    pub fn new(app: &'a App, client: ClientKey, input: R) -> Self {
        let acquire = app.git_runtime.long_request_permits.acquire(client).boxed();
        Self { input, bytes: 0, acquire: Some(acquire), permit: None }
    }

    /// Returns the permit that the request needed. The caller holds it until the request has been served.
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

/// Waits for a request that has begun to arrive. Fails if the client takes longer than the configured time.
pub async fn within_request_timeout<T>(app: &App, reading: impl Future<Output = T>) -> Result<T> {
    let late = |_| holdfast_git::Error::protocol("the request did not arrive in time");
    Ok(tokio::time::timeout(app.git_runtime.settings.request_timeout, reading).await.map_err(late)?)
}

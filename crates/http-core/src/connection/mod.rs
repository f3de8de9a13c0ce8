//! Serves HTTP connections, and bounds the resources that one client can hold.
//!
//! These limits apply to every connection, independently of routes:
//!
//! - The number of connections is limited, in total and per address.
//! - The head of a request arrives within [`Limits::head_timeout`] and is at most [`MAX_HEADER_BYTES`] long.
//! - A request body and a response must make progress (see [`ProgressBudget`]). Only time spent waiting for the client
//!   counts, not the processing of a request or the long poll of a runner.
//! - A request can be answered before its body has been read. The rest of the body is then discarded, within a short
//!   timeout.

mod request_body;
mod stall_timer;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use holdfast_app::client::{ConnectionCounter, ConnectionGuard, ConnectionLimits};
use holdfast_app::progress_budget::ProgressBudget;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::Limits;
use request_body::RequestBody;
pub use request_body::RequestBodyState;
use stall_timer::StallTimer;

/// Maximum size of a request head. Arbitrary, but longer than any URL or token that clients send.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Size of the read and write buffers of a connection in this process.
const BUFFER_SIZE: usize = 128 << 10;
/// Maximum size of a response in the kernel's send buffer that is not sent yet.
const MAX_UNSENT_BYTES: u32 = 128 << 10;
/// Minimum transfer rate. A slower client counts as stalled after a while. Slower than any network connection in use.
const MIN_BYTES_PER_SECOND: u64 = 4 << 10;
/// Maximum time for discarding the rest of a request that has been answered.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time without a byte while the rest of a request is discarded.
const LINGER_IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The HTTP server of one listener.
#[derive(Clone)]
pub struct Connections {
    router: Router,
    http: http1::Builder,
    counter: Arc<ConnectionCounter>,
    stall_timeout: Duration,
}

impl Connections {
    /// Creates the server of one listener; `listener` is its name in the metrics.
    pub fn new(listener: &'static str, router: Router, limits: &Limits) -> Self {
        // HTTP/1 only: detecting HTTP/2 would wait for the first bytes without a timeout, and reverse proxies use
        // HTTP/1.1.
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(MAX_HEADER_BYTES)
            .max_buf_size(BUFFER_SIZE);
        let connection_limits = ConnectionLimits {
            max: limits.max_connections,
            max_per_address: limits.max_connections_per_address,
            trusted_proxies: limits.trusted_proxies.clone(),
        };
        let counter = ConnectionCounter::new(listener, connection_limits);
        Self { router, http, counter, stall_timeout: limits.stall_timeout }
    }

    /// Counts a new connection and returns the future that serves it. Returns `None` if there are too many connections;
    /// the caller then drops the socket.
    ///
    /// After `shutdown` is canceled the connection is closed as soon as it is idle, and after `grace` in any case.
    pub fn accept(
        &self,
        socket: TcpStream,
        address: SocketAddr,
        shutdown: CancellationToken,
        grace: Duration,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let guard = self.counter.try_admit(address.ip())?;
        Some(self.clone().serve(socket, address, guard, shutdown, grace))
    }

    async fn serve(
        self,
        socket: TcpStream,
        address: SocketAddr,
        _guard: ConnectionGuard,
        shutdown: CancellationToken,
        grace: Duration,
    ) {
        // Otherwise each chunk of a streamed response could wait up to 40 ms for the client's delayed acknowledgment.
        socket.set_nodelay(true).ok();
        SockRef::from(&socket).set_tcp_notsent_lowat(MAX_UNSENT_BYTES).ok();
        let mut socket = PacedSocket { socket, timer: StallTimer::new(self.budget()), turn_bytes: 0 };
        // Whether the client may still be sending the body of a request that has been answered.
        let has_unread_body = Arc::new(AtomicBool::new(false));
        {
            let (router, budget, unread) = (self.router.clone(), self.budget(), has_unread_body.clone());
            let service = service_fn(move |request: hyper::Request<Incoming>| {
                let state = RequestBodyState::new(unread.clone());
                let budget = budget.clone();
                let mut request = request.map(|body| Body::new(RequestBody::new(body, budget, state.clone())));
                request.extensions_mut().insert(ConnectInfo(address));
                request.extensions_mut().insert(state);
                router.clone().oneshot(request)
            });
            let mut connection = std::pin::pin!(self.http.serve_connection(TokioIo::new(&mut socket), service));
            // Bytes that have arrived are read before `shutdown` is checked, because a graceful shutdown closes
            // connections without a request in progress.
            let served = tokio::select! {
                biased;
                served = connection.as_mut() => Some(served),
                () = shutdown.cancelled() => None,
            };
            let served = match served {
                Some(served) => served,
                None => {
                    connection.as_mut().graceful_shutdown();
                    let Ok(served) = timeout(grace, connection).await else {
                        tracing::info!(%address, "connection closed during shutdown: request exceeded server.shutdown_grace_seconds");
                        return;
                    };
                    served
                }
            };
            if served.is_err_and(|error| error.is_parse()) {
                has_unread_body.store(true, Ordering::Relaxed);
            }
        }
        if has_unread_body.load(Ordering::Relaxed) {
            timeout(LINGER_TIMEOUT, discard(&mut socket)).await.ok();
        }
    }

    fn budget(&self) -> ProgressBudget {
        ProgressBudget::new(self.stall_timeout, self.stall_timeout, MIN_BYTES_PER_SECOND)
    }
}

/// Reads and discards the rest of a request. If the socket were closed at once, the client would get a connection
/// reset, often before it has read the response.
async fn discard(socket: &mut PacedSocket) {
    socket.shutdown().await.ok();
    let mut buffer = vec![0; 16 << 10];
    while let Ok(Ok(1..)) = timeout(LINGER_IDLE_TIMEOUT, socket.read(&mut buffer)).await {}
}

/// A socket whose writes fail if the peer stops reading.
struct PacedSocket {
    socket: TcpStream,
    timer: StallTimer,
    /// The number of bytes that were written since the socket last yielded or was full.
    turn_bytes: usize,
}

/// After this many bytes a connection lets the others take their turn. A client on a fast network accepts many megabytes
/// at once, and the small responses of this thread would wait for as long as it takes to copy them.
const MAX_TURN_BYTES: usize = 256 << 10;

impl PacedSocket {
    /// Returns whether the connection has used its turn. If so, it is polled again after the others.
    fn must_yield(&mut self, context: &Context<'_>) -> bool {
        let is_over = self.turn_bytes >= MAX_TURN_BYTES;
        if is_over {
            self.turn_bytes = 0;
            context.waker().wake_by_ref();
        }
        is_over
    }

    fn check_stalled(&mut self, result: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(written) => {
                let bytes = written.as_ref().copied().unwrap_or_default();
                self.turn_bytes += bytes;
                self.timer.progress(bytes);
                Poll::Ready(written)
            }
            Poll::Pending if self.timer.poll_stalled(context).is_ready() => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading the response")))
            }
            Poll::Pending => {
                self.turn_bytes = 0;
                Poll::Pending
            }
        }
    }
}

impl AsyncRead for PacedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for PacedSocket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.must_yield(context) {
            return Poll::Pending;
        }
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.check_stalled(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.must_yield(context) {
            return Poll::Pending;
        }
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, buffers);
        self.check_stalled(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

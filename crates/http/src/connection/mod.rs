//! Serves one HTTP connection, and bounds what its client can keep of this node.
//!
//! Every connection has these limits, so that no route can forget one:
//!
//! - There are only so many connections, in all and from one address.
//! - The head of a request arrives within [`Limits::head_timeout`] and is at most [`MAX_HEADER_BYTES`] long.
//! - A body that is waited for advances, and so does a response that is sent (see [`ProgressBudget`]). Time counts only while
//!   the client keeps us waiting: not while a request is worked on, and not while a runner waits for a job.
//! - A request may be answered before its body is read. The rest is then discarded, for a short time.

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
pub(crate) use request_body::RequestBodyState;
use stall_timer::StallTimer;

/// Longer than any address with its parameters, and than any token.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// What is read ahead or waits to be written in this process, for each connection.
const BUFFER_SIZE: usize = 128 << 10;
/// What the kernel takes of a response before the client has room for it.
const MAX_UNSENT_BYTES: u32 = 128 << 10;
/// A client that moves less in a second for long is taken for one that does not move. Slower than any line in use.
const MIN_BYTES_PER_SECOND: u64 = 4 << 10;
/// How long the rest of a request is discarded that was answered already: in all, and without a byte.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10);
const LINGER_IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The connections of one listener.
#[derive(Clone)]
pub struct Connections {
    router: Router,
    http: http1::Builder,
    counter: Arc<ConnectionCounter>,
    stall_timeout: Duration,
}

impl Connections {
    /// `listener` is its name in the metrics.
    pub fn new(listener: &'static str, router: Router, limits: &Limits) -> Self {
        // Telling HTTP/1 from HTTP/2 would wait for the first bytes without a limit; proxies in front speak HTTP/1.1.
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_header_size(MAX_HEADER_BYTES)
            .max_buf_size(BUFFER_SIZE);
        let counted = ConnectionLimits {
            max: limits.max_connections,
            max_per_address: limits.max_connections_per_address,
            trusted_proxies: limits.trusted_proxies.clone(),
        };
        let counter = ConnectionCounter::new(listener, counted);
        Self { router, http, counter, stall_timeout: limits.stall_timeout }
    }

    /// Counts a new connection and returns what serves it. Returns `None` if there are too many: the caller drops the socket.
    ///
    /// When `end` is cancelled the connection is closed as soon as nothing is under way on it, and after `grace` in any case.
    pub fn accept(
        &self,
        socket: TcpStream,
        address: SocketAddr,
        end: CancellationToken,
        grace: Duration,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let guard = self.counter.try_admit(address.ip())?;
        Some(self.clone().serve(socket, address, guard, end, grace))
    }

    async fn serve(
        self,
        socket: TcpStream,
        address: SocketAddr,
        _guard: ConnectionGuard,
        end: CancellationToken,
        grace: Duration,
    ) {
        // An answer in pieces would otherwise wait for the client to confirm each of them, which takes 40 ms.
        socket.set_nodelay(true).ok();
        SockRef::from(&socket).set_tcp_notsent_lowat(MAX_UNSENT_BYTES).ok();
        let mut socket = PacedSocket { socket, timer: StallTimer::new(self.budget()) };
        // Whether the client may still be sending a request that was answered.
        let has_unread_body = Arc::new(AtomicBool::new(false));
        {
            let (router, budget, unread) = (self.router.clone(), self.budget(), has_unread_body.clone());
            let answer = service_fn(move |request: hyper::Request<Incoming>| {
                let state = RequestBodyState::new(unread.clone());
                let budget = budget.clone();
                let mut request = request.map(|body| Body::new(RequestBody::new(body, budget, state.clone())));
                request.extensions_mut().insert(ConnectInfo(address));
                request.extensions_mut().insert(state);
                router.clone().oneshot(request)
            });
            let mut connection = std::pin::pin!(self.http.serve_connection(TokioIo::new(&mut socket), answer));
            // What has arrived is read first: what was not heard when the end is told is closed.
            let served = tokio::select! {
                biased;
                served = connection.as_mut() => Some(served),
                () = end.cancelled() => None,
            };
            let served = match served {
                Some(served) => served,
                None => {
                    connection.as_mut().graceful_shutdown();
                    let Ok(served) = timeout(grace, connection).await else {
                        tracing::info!(%address, "a request took longer than server.shutdown_grace_seconds and is cut off");
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

/// Reads what a client still sends. If the socket were closed at once, the client would be told that the connection is
/// broken, often before it has read the response.
async fn discard(socket: &mut PacedSocket) {
    socket.shutdown().await.ok();
    let mut buffer = vec![0; 16 << 10];
    while let Ok(Ok(1..)) = timeout(LINGER_IDLE_TIMEOUT, socket.read(&mut buffer)).await {}
}

/// A socket on which a write fails if the peer does not take what is written.
struct PacedSocket {
    socket: TcpStream,
    timer: StallTimer,
}

impl PacedSocket {
    fn paced(&mut self, written: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(written) => {
                self.timer.progress(written.as_ref().copied().unwrap_or_default());
                Poll::Ready(written)
            }
            Poll::Pending if self.timer.poll_stalled(context).is_ready() => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not take the response")))
            }
            Poll::Pending => Poll::Pending,
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
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.paced(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, buffers);
        self.paced(written, context)
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

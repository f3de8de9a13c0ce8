//! The HTTP listener and its graceful shutdown, which loses no request while load balancers still send new ones.
//!
//! A load balancer does not retry a POST, so no connection may be closed that can carry one:
//!
//! 1. While the application shuts down, every response has `Connection: close`, so idle connections are closed.
//! 2. [`GracefulListener::shut_down`] waits for that, and then makes the kernel drop the packets of new connections.
//! 3. The listener accepts all connections in its backlog before it is closed: closing it would reset them.
//! 4. Accepted connections may still send their first request; then the listener drains all connections.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use holdfast_http::Connections;
use socket2::{SockFilter, SockRef};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long shutdown waits for clients to close idle keep-alive connections.
const KEEPALIVE_GRACE: Duration = Duration::from_secs(5);
/// How long TCP handshakes that have begun may take to complete.
const IN_FLIGHT_GRACE: Duration = Duration::from_millis(200);
/// How long accepted connections may take to send their first request during shutdown.
const FIRST_REQUEST_GRACE: Duration = Duration::from_secs(2);
/// Maximum number of connections in the backlog: the default of `net.core.somaxconn`.
const MAX_BACKLOG: usize = 4096;
/// Pause after a failed `accept`, such as when the process has run out of file descriptors.
const ACCEPT_ERROR_BACKOFF: Duration = Duration::from_millis(100);

/// A listener that accepts connections until [`GracefulListener::shut_down`] and then drains them.
#[derive(Clone, Default)]
pub struct GracefulListener {
    /// Cancelled by [`GracefulListener::shut_down`] when connections to all of its listeners are dropped.
    pub stop_accepting: CancellationToken,
    connections: TaskTracker,
    /// Closes connections without an active request.
    drain: CancellationToken,
}

impl GracefulListener {
    /// Serves connections until the listener is shut down. Returns when all active requests have finished, or `grace`
    /// after draining has begun.
    pub async fn serve(self, listener: TcpListener, connections: Connections, grace: Duration) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let start_connection = |socket, address| {
            if let Some(serving) = connections.accept(socket, address, self.drain.clone(), grace) {
                drop(self.connections.spawn(serving));
            }
        };
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop_accepting.cancelled() => break,
            };
            match accepted {
                Ok((socket, address)) => start_connection(socket, address),
                Err(error) => {
                    tracing::warn!(%error, "accepting connection failed");
                    if timeout(ACCEPT_ERROR_BACKOFF, self.stop_accepting.cancelled()).await.is_ok() {
                        break;
                    }
                }
            }
        }
        // Accept the connections in the backlog that the runtime has not reported yet.
        let listener = listener.into_std()?;
        for (socket, address) in std::iter::from_fn(|| listener.accept().ok()).take(MAX_BACKLOG) {
            match socket.set_nonblocking(true).and_then(|()| TcpStream::from_std(socket)) {
                Ok(socket) => start_connection(socket, address),
                Err(error) => tracing::warn!(%error, "accepting connection failed"),
            }
        }
        drop(listener);
        sleep_until(Instant::now() + FIRST_REQUEST_GRACE).await;
        self.drain.cancel();
        self.connections.close();
        self.connections.wait().await;
        Ok(())
    }

    /// Stops accepting connections. `listeners` are the listener of [`Self::serve`] and the one of SSH, which both stop
    /// when [`Self::stop_accepting`] is canceled. Shortly before, the kernel begins to drop new connections to them.
    pub async fn shut_down(&self, listeners: Vec<TcpListener>) {
        let mut interval = tokio::time::interval(Duration::from_millis(20));
        let drained = async {
            while !self.connections.is_empty() {
                interval.tick().await;
            }
        };
        timeout(KEEPALIVE_GRACE, drained).await.ok();
        if let Err(error) = listeners.iter().try_for_each(drop_new_connections) {
            tracing::info!(%error, "socket filter unavailable: connections arriving during shutdown may be reset");
        }
        drop(listeners);
        sleep_until(Instant::now() + IN_FLIGHT_GRACE).await;
        self.stop_accepting.cancel();
    }
}

/// Attaches a socket filter that drops SYN packets, so that handshakes that have begun can complete and no new ones
/// begin. A dropped client retries after a second, finds the port closed, and connects to another node. Newer kernels
/// require `CAP_NET_ADMIN`.
fn drop_new_connections(listener: &TcpListener) -> io::Result<()> {
    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FLAGS_OF_TCP: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    SockRef::from(listener).attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS_OF_TCP),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use axum::Router;
    use axum::routing::get;
    use holdfast_http::Limits;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

    async fn connect() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "here"));
        let limits = Limits {
            max_body_bytes: 0,
            max_upload_bytes: 0,
            request_timeout: Duration::MAX,
            requests_per_minute: 0,
            anonymous_requests_per_minute: 0,
            trusted_proxies: Vec::new(),
            max_connections: 10,
            max_connections_per_address: 10,
            head_timeout: HEAD_TIMEOUT,
            stall_timeout: Duration::from_secs(60),
        };
        let connections = Connections::new("test", router, &limits);
        drop(tokio::spawn(GracefulListener::default().serve(listener, connections, Duration::ZERO)));
        TcpStream::connect(address).await.unwrap()
    }

    /// Attack: clients open many connections and send nothing, or one byte per minute, to exhaust the file descriptors.
    /// Each connection is closed after the timeout for the request head.
    #[tokio::test(start_paused = true)]
    async fn connections_with_unfinished_request_heads_are_closed() {
        for beginning in ["", "GET / HTTP/1.1\r\nHost: x\r\n"] {
            let (begun, mut client) = (Instant::now(), connect().await);
            client.write_all(beginning.as_bytes()).await.unwrap();
            client.read_to_end(&mut Vec::new()).await.unwrap();
            assert!(
                (HEAD_TIMEOUT..2 * HEAD_TIMEOUT).contains(&begun.elapsed()),
                "{beginning:?}: {:?}",
                begun.elapsed()
            );
        }
    }

    #[tokio::test]
    async fn a_connection_serves_several_requests_in_sequence() {
        let mut client = connect().await;
        for _ in 0..3 {
            client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"here") {
                assert!(client.read_buf(&mut answer).await.unwrap() > 0);
            }
        }
    }
}

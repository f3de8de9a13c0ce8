//! The door for HTTP, and how a node closes its doors while balancers still send people to them.
//!
//! No request may be lost that a balancer does not dare to send twice. A connection that is closed from here may meet one
//! that is just being sent on it: so every answer says first that it is the last, and whoever keeps idle connections closes
//! them. A listener that is closed resets those who wait to be let in: so first nobody new is heard, and then everybody is
//! let in. And whoever was let in may still say what it wants.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use holdfast_http::Connections;
use socket2::{SockFilter, SockRef};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long connections are waited for that a balancer keeps open and does not use.
const PARTING: Duration = Duration::from_secs(5);
/// How long whoever has begun to connect may take to be let in.
const ON_THE_WAY: Duration = Duration::from_millis(200);
/// How long whoever was let in may take to say the first word.
const FIRST_WORD: Duration = Duration::from_secs(2);
/// Nobody has more of them waiting (`net.core.somaxconn`).
const LONGEST_QUEUE: usize = 4096;
/// For a process that has run out of file descriptors.
const BREATH: Duration = Duration::from_millis(100);

#[derive(Clone, Default)]
pub struct Door {
    closing: CancellationToken,
    connections: TaskTracker,
    /// Whoever has nothing under way leaves.
    end: CancellationToken,
}

impl Door {
    /// Until it is told to close, and then for as long as what has begun takes, within the grace.
    pub async fn serve(self, listener: TcpListener, served: Connections, grace: Duration) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let let_in = |socket, address| {
            if let Some(serving) = served.accept(socket, address, self.end.clone(), grace) {
                drop(self.connections.spawn(serving));
            }
        };
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.closing.cancelled() => break,
            };
            match accepted {
                Ok((socket, address)) => let_in(socket, address),
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    if timeout(BREATH, self.closing.cancelled()).await.is_ok() {
                        break;
                    }
                }
            }
        }
        // Those of whom the runtime has not heard yet.
        let listener = listener.into_std()?;
        for (socket, address) in std::iter::from_fn(|| listener.accept().ok()).take(LONGEST_QUEUE) {
            match socket.set_nonblocking(true).and_then(|()| TcpStream::from_std(socket)) {
                Ok(socket) => let_in(socket, address),
                Err(error) => tracing::warn!(%error, "a connection cannot be accepted"),
            }
        }
        drop(listener);
        sleep_until(Instant::now() + FIRST_WORD).await;
        self.end.cancel();
        self.connections.close();
        self.connections.wait().await;
        Ok(())
    }

    /// Closes it. `listeners` are those that hear nobody new shortly before: its own, and that of SSH, which is closed next.
    pub async fn close(&self, listeners: Vec<TcpListener>) {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        let gone = async {
            while !self.connections.is_empty() {
                every.tick().await;
            }
        };
        timeout(PARTING, gone).await.ok();
        if let Err(error) = listeners.iter().try_for_each(hear_nobody_new) {
            tracing::info!(%error, "who connects in this moment may be turned away: see docs/operations.md, Stopping");
        }
        drop(listeners);
        sleep_until(Instant::now() + ON_THE_WAY).await;
        self.closing.cancel();
    }
}

/// Drops what would begin a connection, and lets those finish that have begun. Who is not heard asks again after a second,
/// finds the door closed and goes elsewhere. Newer kernels want `CAP_NET_ADMIN` for it.
fn hear_nobody_new(listener: &TcpListener) -> io::Result<()> {
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

    async fn connected() -> TcpStream {
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
        let served = Connections::new("test", router, &limits);
        drop(tokio::spawn(Door::default().serve(listener, served, Duration::ZERO)));
        TcpStream::connect(address).await.unwrap()
    }

    /// However many say nothing, or one letter a minute: each keeps a file descriptor for no longer than this.
    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_finish_the_head_of_a_request_is_let_go() {
        for beginning in ["", "GET / HTTP/1.1\r\nHost: x\r\n"] {
            let (begun, mut client) = (Instant::now(), connected().await);
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
    async fn a_connection_serves_one_request_after_the_other() {
        let mut client = connected().await;
        for _ in 0..3 {
            client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"here") {
                assert!(client.read_buf(&mut answer).await.unwrap() > 0);
            }
        }
    }
}

//! How a node closes its doors while balancers still send people to them.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum_server::Handle;
use socket2::{SockFilter, SockRef};
use tokio::time::{Instant, sleep_until};

/// How long connections are waited for that a balancer keeps open and does not use.
const PARTING: Duration = Duration::from_secs(5);
/// How long whoever has begun to connect may take to be let in and to say the first word: a connection that has not is closed
/// then. Less than the second after which those who were not heard ask again.
const ON_THE_WAY: Duration = Duration::from_millis(800);

/// No request may be lost that a balancer does not dare to send twice. A connection that is closed from here may meet one
/// that is just being sent on it: so every answer now says that it is the last, and whoever keeps idle connections closes
/// them. And a listener that is closed resets those who wait to be let in: so first nobody new is heard.
pub async fn part(handle: &Handle<SocketAddr>, doors: Vec<TcpListener>) {
    let mut every = tokio::time::interval(Duration::from_millis(20));
    let gone = async {
        while handle.connection_count() > 0 {
            every.tick().await;
        }
    };
    tokio::time::timeout(PARTING, gone).await.ok();
    if let Err(error) = doors.iter().try_for_each(hear_nobody_new) {
        tracing::info!(%error, "who connects in this moment may be turned away: see docs/operations.md, Stopping");
    }
    drop(doors);
    sleep_until(Instant::now() + ON_THE_WAY).await;
}

/// Drops what would begin a connection, and lets those finish that have begun. Newer kernels want `CAP_NET_ADMIN` for it. Who is not heard asks again after a second,
/// finds the door closed and goes elsewhere.
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

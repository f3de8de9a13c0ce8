//! Accepts SSH connections and supervises them until they end.
//!
//! - Connections are limited in total and per address, and unauthenticated ones more strictly.
//! - A connection that does not authenticate within the handshake timeout is closed.
//! - At shutdown, connections are drained: running commands complete within the configured grace period.

use std::borrow::Cow;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_app::accounts::host_key;
use holdfast_app::client::{ConnectionCounter, ConnectionGuard, ConnectionLimits, client_share};
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PrivateKey};
use russh::server::{self, Config};
use russh::{MethodKind, MethodSet, Preferred, SshId, compression, kex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::Connection;
use crate::idle_timeout::IdleTimeoutStream;
use crate::{Context, Error, Result, Settings};

/// Accepts connections until `stop` completes, and then drains the open ones within the grace period.
pub async fn serve(
    app: Arc<App>,
    listener: std::net::TcpListener,
    settings: Settings,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut stop = std::pin::pin!(stop);
    let keys = tokio::select! {
        keys = host_keys(&app) => keys,
        () = &mut stop => return Ok(()),
    };
    let unauthenticated = ConnectionLimits {
        max: settings.max_unauthenticated_connections,
        max_per_address: client_share(settings.max_unauthenticated_connections),
        trusted_proxies: settings.connection_limits.trusted_proxies.clone(),
    };
    let acceptor = ConnectionAcceptor {
        config: Arc::new(config(keys)),
        connections: ConnectionCounter::new("ssh", settings.connection_limits.clone()),
        unauthenticated: ConnectionCounter::new("ssh_unauthenticated", unauthenticated),
        shutdown: CancellationToken::new(),
        abort: CancellationToken::new(),
        context: Arc::new(Context { app, settings }),
    };
    let connections = TaskTracker::new();
    loop {
        // Connections that wait in the accept queue come before `stop`: the kernel resets them when the listener is
        // closed.
        let accepted = tokio::select! {
            biased;
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            // Excess connections are dropped at once: letting them wait would cost as much as serving them.
            Ok((socket, address)) => {
                if let Some(admitted) = acceptor.try_admit(address.ip()) {
                    acceptor.spawn_connection(&connections, socket, admitted);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "accepting connection failed");
                if timeout(ACCEPT_ERROR_BACKOFF, &mut stop).await.is_ok() {
                    break;
                }
            }
        }
    }
    drop(listener);
    connections.close();
    acceptor.shutdown.cancel();
    if timeout(acceptor.context.settings.shutdown_grace, connections.wait()).await.is_err() {
        acceptor.abort.cancel();
        timeout(DISCONNECT_TIMEOUT, connections.wait()).await.ok();
    }
    Ok(())
}

/// Pause after a failed `accept`, for a process that has run out of file descriptors. Arbitrary.
const ACCEPT_ERROR_BACKOFF: Duration = Duration::from_millis(100);
/// Time a client has to disconnect after its last command has ended. Arbitrary.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time a connection has to send its first command if the server begins its shutdown right after accepting it.
/// Arbitrary.
const NEW_CONNECTION_GRACE: Duration = Duration::from_secs(10);
const HOST_KEY_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Loads the host keys, and retries until the database is available: without it no client can authenticate anyway.
async fn host_keys(app: &App) -> Vec<PrivateKey> {
    let mut interval = tokio::time::interval(HOST_KEY_RETRY_INTERVAL);
    loop {
        interval.tick().await;
        match host_key::load_or_create(app).await {
            Ok(keys) => return keys,
            Err(error) => tracing::warn!(%error, "loading SSH host keys failed, retrying"),
        }
    }
}

fn config(keys: Vec<PrivateKey>) -> Config {
    Config {
        server_id: SshId::Standard(Cow::Borrowed("SSH-2.0-Holdfast")),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        keys,
        preferred: Preferred {
            kex: Cow::Borrowed(KEY_EXCHANGES),
            key: Cow::Borrowed(SIGNATURE_ALGORITHMS),
            // Packs are compressed already, and decompressing input of unauthenticated clients invites decompression
            // bombs.
            compression: Cow::Borrowed(&[compression::NONE]),
            ..Preferred::DEFAULT
        },
        // Keys cannot be guessed, so there is no reason to slow down clients whose agents offer many of them.
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        max_auth_attempts: 20,
        // `IdleTimeoutStream` has its own timeout, which also covers stalled writes.
        inactivity_timeout: None,
        nodelay: true,
        ..Config::default()
    }
}

/// Key exchange algorithms. Those with large Diffie-Hellman groups are left out: each exchange costs tens of
/// milliseconds of CPU time, and unauthenticated clients can request it.
const KEY_EXCHANGES: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::DH_G14_SHA256,
    kex::EXTENSION_SUPPORT_AS_SERVER,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
];

/// Signature algorithms for host keys and client keys. SHA-1 is left out, because its collisions allow forgeries.
const SIGNATURE_ALGORITHMS: &[Algorithm] = &[
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

#[derive(Clone)]
struct ConnectionAcceptor {
    context: Arc<Context>,
    config: Arc<Config>,
    /// Counts all connections.
    connections: Arc<ConnectionCounter>,
    /// Counts the connections that are not authenticated yet.
    unauthenticated: Arc<ConnectionCounter>,
    shutdown: CancellationToken,
    abort: CancellationToken,
}

/// A connection that was admitted. It counts as a connection until it ends, and as unauthenticated until authentication
/// succeeds.
struct AdmittedConnection {
    connection: ConnectionGuard,
    unauthenticated: ConnectionGuard,
}

impl ConnectionAcceptor {
    /// Counts a new connection. Returns `None` if there are too many; the metrics count the refused ones.
    fn try_admit(&self, peer: IpAddr) -> Option<AdmittedConnection> {
        let connection = self.connections.try_admit(peer)?;
        let unauthenticated = self.unauthenticated.try_admit_early_drop(peer, self.context.app.random_fraction())?;
        Some(AdmittedConnection { connection, unauthenticated })
    }

    /// Serves a connection in a task of its own. Not generic, so that it is compiled in this crate (ADR 0033).
    fn spawn_connection(&self, connections: &TaskTracker, socket: TcpStream, admitted: AdmittedConnection) {
        drop(connections.spawn(self.clone().handle_socket(socket, admitted)));
    }

    async fn handle_socket(self, socket: TcpStream, admitted: AdmittedConnection) {
        match self.serve_connection(socket, admitted).await {
            Ok(()) => {}
            Err(Error::App(error)) => tracing::warn!(%error, "authenticating SSH client failed"),
            Err(error) => tracing::debug!(%error, "connection ended with an error"),
        }
    }

    async fn serve_connection(self, socket: TcpStream, admitted: AdmittedConnection) -> Result<()> {
        let AdmittedConnection { connection: _connection_guard, unauthenticated } = admitted;
        socket.set_nodelay(true)?;
        let accepted_at = Instant::now();
        let settings = &self.context.settings;
        let (tasks, abort) = (TaskTracker::new(), self.abort.child_token());
        // The session runs in a task of its own. Dropping the guard aborts its stream, however this function ends.
        let _abort_guard = abort.clone().drop_guard();
        let stream = IdleTimeoutStream::with_tasks(socket, settings.idle_timeout, tasks.clone(), abort);
        let (signed_in_sender, signed_in) = oneshot::channel();
        let connection = Connection::new(self.context.clone(), signed_in_sender, tasks.clone());
        let handshake = timeout(settings.handshake_timeout, async {
            let session = server::run_stream(self.config.clone(), stream, connection).await?;
            // This also returns when the session ends early, because that drops the sender.
            signed_in.await.ok();
            Ok::<_, Error>(session)
        });
        let mut session = tokio::select! {
            session = handshake => match session {
                Ok(session) => session?,
                Err(_) => return Ok(()),
            },
            () = self.wait_for_shutdown_deadline(accepted_at) => return Ok(()),
        };
        drop(unauthenticated);
        let drained = async {
            self.wait_for_shutdown_deadline(accepted_at).await;
            tasks.close();
            tasks.wait().await;
        };
        tokio::select! {
            ended = &mut session => return ended,
            () = drained => {}
        }
        timeout(DISCONNECT_TIMEOUT, &mut session).await.unwrap_or(Ok(()))
    }

    async fn wait_for_shutdown_deadline(&self, accepted_at: Instant) {
        self.shutdown.cancelled().await;
        sleep_until((accepted_at + NEW_CONNECTION_GRACE).max(Instant::now() + DISCONNECT_TIMEOUT)).await;
    }
}

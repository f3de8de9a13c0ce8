//! Taking connections, and letting go of those that do not sign in.

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
use crate::line::Line;
use crate::{Context, Error, Result, Settings};

/// Until `stop`, and then for as long as what has begun takes, within the grace.
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
        max: settings.max_unauthenticated,
        max_per_address: client_share(settings.max_unauthenticated),
        trusted_proxies: settings.connections.trusted_proxies.clone(),
    };
    let door = Door {
        config: Arc::new(config(keys)),
        open: ConnectionCounter::new("ssh", settings.connections.clone()),
        unauthenticated: ConnectionCounter::new("ssh_unauthenticated", unauthenticated),
        stopping: CancellationToken::new(),
        cut: CancellationToken::new(),
        context: Arc::new(Context { app, settings }),
    };
    let connections = TaskTracker::new();
    loop {
        // Whoever waits to be let in comes first: it would be turned away with the listener.
        let accepted = tokio::select! {
            biased;
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            // Whoever finds no place is turned away at once: waiting would cost us as much as serving.
            Ok((socket, address)) => {
                if let Some(admitted) = door.try_admit(address.ip()) {
                    drop(connections.spawn(door.clone().receive(socket, admitted)));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                if timeout(BREATH, &mut stop).await.is_ok() {
                    break;
                }
            }
        }
    }
    drop(listener);
    connections.close();
    door.stopping.cancel();
    if timeout(door.context.settings.shutdown_grace, connections.wait()).await.is_err() {
        door.cut.cancel();
        timeout(PARTING, connections.wait()).await.ok();
    }
    Ok(())
}

/// For a process that has run out of file descriptors.
const BREATH: Duration = Duration::from_millis(100);
/// How long a client may take to leave when there is nothing left to do for it.
const PARTING: Duration = Duration::from_secs(2);
/// How long whoever has just come may take to say what it wants, when this node is about to stop.
const JUST_COME: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_secs(5);

/// While the database is away nobody can sign in anyway.
async fn host_keys(app: &App) -> Vec<PrivateKey> {
    let mut every = tokio::time::interval(RETRY);
    loop {
        every.tick().await;
        match host_key::load_or_make(app).await {
            Ok(keys) => return keys,
            Err(error) => tracing::warn!(%error, "SSH waits for its host keys"),
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
            key: Cow::Borrowed(SIGNATURES),
            // Packs are compressed already, and what is unpacked before it is known from whom can be a trap.
            compression: Cow::Borrowed(&[compression::NONE]),
            ..Preferred::DEFAULT
        },
        // A key cannot be guessed, so there is no reason to slow down those whose agents hold many.
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        max_auth_attempts: 20,
        // The line has its own, which also rings while a write waits.
        inactivity_timeout: None,
        nodelay: true,
        ..Config::default()
    }
}

/// Without those of long numbers: each costs tens of milliseconds, for anybody who asks.
const KEY_EXCHANGES: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::DH_G14_SHA256,
    kex::EXTENSION_SUPPORT_AS_SERVER,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
];

/// Of clients and of ourselves; not over SHA-1, which can be forged by now.
const SIGNATURES: &[Algorithm] = &[
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

#[derive(Clone)]
struct Door {
    context: Arc<Context>,
    config: Arc<Config>,
    /// All connections, and those that have not signed in.
    open: Arc<ConnectionCounter>,
    unauthenticated: Arc<ConnectionCounter>,
    stopping: CancellationToken,
    cut: CancellationToken,
}

/// A connection is counted from when it is accepted until it ends, and as unauthenticated until it has signed in.
struct Admitted {
    open: ConnectionGuard,
    unauthenticated: ConnectionGuard,
}

impl Door {
    /// Returns `None` if there are too many connections. The metrics count them.
    fn try_admit(&self, peer: IpAddr) -> Option<Admitted> {
        let open = self.open.try_admit(peer)?;
        let unauthenticated = self.unauthenticated.try_admit_early_drop(peer, self.context.app.random_fraction())?;
        Some(Admitted { open, unauthenticated })
    }

    async fn receive(self, socket: TcpStream, admitted: Admitted) {
        if let Err(error) = self.converse(socket, admitted).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn converse(self, socket: TcpStream, admitted: Admitted) -> Result<()> {
        let Admitted { open: _open, unauthenticated } = admitted;
        socket.set_nodelay(true)?;
        let came = Instant::now();
        let settings = &self.context.settings;
        let (work, cut) = (TaskTracker::new(), self.cut.child_token());
        // A session goes its own way: whatever ends this, cuts its line.
        let _end = cut.clone().drop_guard();
        let line = Line::with(socket, settings.idle_timeout, work.clone(), cut);
        let (known, signed_in) = oneshot::channel();
        let connection = Connection::new(self.context.clone(), known, work.clone());
        let handshake = timeout(settings.handshake_timeout, async {
            let session = server::run_stream(self.config.clone(), line, connection).await?;
            // Also when the session ends: then the other half of it is gone.
            signed_in.await.ok();
            Ok::<_, Error>(session)
        });
        let mut session = tokio::select! {
            session = handshake => match session {
                Ok(session) => session?,
                Err(_) => return Ok(()),
            },
            () = self.nothing_more_begins(came) => return Ok(()),
        };
        drop(unauthenticated);
        let done = async {
            self.nothing_more_begins(came).await;
            work.close();
            work.wait().await;
        };
        tokio::select! {
            ended = &mut session => return ended,
            () = done => {}
        }
        timeout(PARTING, &mut session).await.unwrap_or(Ok(()))
    }

    async fn nothing_more_begins(&self, came: Instant) {
        self.stopping.cancelled().await;
        sleep_until((came + JUST_COME).max(Instant::now() + PARTING)).await;
    }
}

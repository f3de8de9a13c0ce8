//! The pool of database connections.
//!
//! It differs from the pool of sqlx in what happens when a connection is returned: that one starts a task and pings the
//! database, which is a round trip after every use. Here a connection is returned at once if nothing is pending on it.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use deadpool::managed::{Manager, Metrics, Object, Pool, PoolError, RecycleError, RecycleResult};
use futures_util::FutureExt;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection as _, Executor, PgConnection};

use crate::Result;

pub type Connection = PgConnection;

/// A connection that was returned longer ago is checked before its next use. The check costs a round trip.
const LIVENESS_CHECK_AFTER: Duration = Duration::from_secs(1);
/// Connections are closed after this time, so that the memory of their sessions does not grow for ever.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);
/// Connections that were unused for this time are closed.
const MAX_IDLE: Duration = Duration::from_secs(10 * 60);
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// How much longer than a statement a returned connection may take to end what is pending on it. After this time it is
/// closed. Closing it earlier would not end the statement in the database, and the pool would open another connection.
const DRAIN_GRACE: Duration = Duration::from_secs(5);
const MIN_CONNECT_BACKOFF: Duration = Duration::from_millis(10);
const MAX_CONNECT_BACKOFF: Duration = Duration::from_secs(1);

pub(crate) struct ConnectionPool {
    pool: Pool<Connector>,
    acquire_timeout: Duration,
    drain_timeout: Duration,
}

/// How many connections of a pool are in use, idle, or not yet opened.
#[derive(Clone, Copy, Debug)]
pub struct PoolUsage {
    pub busy: u32,
    pub idle: u32,
    pub unopened: u32,
}

impl ConnectionPool {
    /// Creates the pool without opening a connection. Must be called in a tokio runtime. `statement_timeout` is that of
    /// the connections.
    pub fn new(
        options: PgConnectOptions,
        max_connections: usize,
        acquire_timeout: Duration,
        statement_timeout: Duration,
    ) -> Self {
        let pool = Pool::builder(Connector { options }).max_size(max_connections).build();
        let pool = pool.expect("a pool without timeouts needs no runtime of its own");
        let weak = pool.weak();
        tokio::spawn(async move {
            let mut interval = tokio::time::interval(IDLE_CHECK_INTERVAL);
            loop {
                interval.tick().await;
                let Some(pool) = weak.upgrade() else { break };
                pool.retain(|_, metrics| metrics.last_used() < MAX_IDLE);
            }
        });
        Self { pool, acquire_timeout, drain_timeout: statement_timeout + DRAIN_GRACE }
    }

    pub async fn acquire(&self) -> Result<PooledConnection> {
        let acquired = match tokio::time::timeout(self.acquire_timeout, self.pool.get()).await {
            Ok(Ok(connection)) => {
                let drain_timeout = self.drain_timeout;
                Ok(PooledConnection { connection: Some(connection), in_transaction: false, drain_timeout })
            }
            Ok(Err(PoolError::Backend(error))) => Err(error),
            Ok(Err(PoolError::Closed)) => Err(sqlx::Error::PoolClosed),
            Ok(Err(_)) | Err(_) => Err(sqlx::Error::PoolTimedOut),
        };
        Ok(acquired?)
    }

    pub fn usage(&self) -> PoolUsage {
        let status = self.pool.status();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        PoolUsage {
            busy: count(status.size.saturating_sub(status.available)),
            idle: count(status.available),
            unopened: count(status.max_size.saturating_sub(status.size)),
        }
    }

    pub fn close(&self) {
        self.pool.close();
    }
}

/// Opens the connections of the pool, and checks a connection before it is used again.
struct Connector {
    options: PgConnectOptions,
}

impl Manager for Connector {
    type Type = PgConnection;
    type Error = sqlx::Error;

    /// Connects. While the database is starting, the attempt is repeated; the caller has a timeout.
    async fn create(&self) -> std::result::Result<PgConnection, sqlx::Error> {
        let mut backoff = MIN_CONNECT_BACKOFF;
        loop {
            // Boxed, because the future of every use case would otherwise have room for the handshake.
            match Box::pin(self.options.connect()).await {
                Err(sqlx::Error::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(sqlx::Error::Database(error)) if error.is_transient_in_connect_phase() => {}
                result => return result,
            }
            #[expect(clippy::disallowed_methods, reason = "nothing tells when the database has started")]
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(MAX_CONNECT_BACKOFF);
        }
    }

    async fn recycle(&self, connection: &mut PgConnection, metrics: &Metrics) -> RecycleResult<sqlx::Error> {
        if metrics.age() > MAX_AGE {
            return Err(RecycleError::message("the connection is too old"));
        }
        if metrics.last_used() > LIVENESS_CHECK_AFTER {
            Box::pin(connection.ping()).await?;
        }
        Ok(())
    }
}

/// A connection that is returned to its pool when it is dropped.
pub struct PooledConnection {
    /// Some until it is dropped.
    connection: Option<Object<Connector>>,
    in_transaction: bool,
    drain_timeout: Duration,
}

impl PooledConnection {
    /// Sets whether a transaction may be open, which is rolled back before the connection is returned.
    pub(crate) fn set_in_transaction(&mut self, in_transaction: bool) {
        self.in_transaction = in_transaction;
    }
}

const EXPECT: &str = "only drop takes the connection";

impl Deref for PooledConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect(EXPECT)
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect(EXPECT)
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let (in_transaction, drain_timeout) = (self.in_transaction, self.drain_timeout);
        // Usually nothing is pending, and the flush ends at once and without a system call.
        if !in_transaction && matches!(connection.flush().now_or_never(), Some(Ok(()))) {
            return;
        }
        // A transaction is open, or a statement was canceled and its result has not arrived.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            drop(Object::take(connection));
            return;
        };
        runtime.spawn(async move {
            let drain = async {
                connection.flush().await?;
                if in_transaction {
                    connection.execute("rollback").await?;
                }
                Ok::<_, sqlx::Error>(())
            };
            if !matches!(tokio::time::timeout(drain_timeout, drain).await, Ok(Ok(()))) {
                drop(Object::take(connection));
            }
        });
    }
}

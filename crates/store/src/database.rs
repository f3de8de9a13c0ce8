//! The connection pool, and the settings of every connection.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use crate::Result;
use crate::connection_pool::{ConnectionPool, PoolUsage, PooledConnection};
use crate::page::LargeListCache;
use crate::transaction::Transaction;

/// Checks that a text can be the URL of a PostgreSQL database. The error does not repeat the URL, which may contain a
/// password.
pub fn check_url(url: &str) -> std::result::Result<(), String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("it must begin with postgres://".into());
    }
    match PgConnectOptions::from_str(url) {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Configuration(cause)) => Err(format!("it is not a valid URL: {cause}")),
        Err(_) => Err("it is not a valid URL".into()),
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub url: String,
    pub max_connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
}

/// The state of the database's replicas.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct ReplicationStatus {
    /// The number of connected replicas.
    pub replicas: i64,
    /// The longest replay lag. None if there is none, or if the database user may not read it (`pg_read_all_stats`).
    pub lag_seconds: Option<f64>,
}

/// The number of connections that the job queue uses, out of all connections of a node. Its statements are short.
const QUEUE_CONNECTIONS: u32 = 2;

#[derive(Clone)]
pub struct Database {
    pool: Arc<ConnectionPool>,
    queue_pool: PgPool,
    pub(crate) large_lists: Arc<LargeListCache>,
}

impl Database {
    /// Creates the pools without opening a connection: a node starts while its database is unavailable, and reports
    /// that it is not ready.
    pub fn new(options: &Options) -> Result<Self> {
        let connect_options = PgConnectOptions::from_str(&options.url)?
            .application_name("holdfast")
            // Just-in-time compilation of a plan takes longer than any statement of this program runs.
            .options([
                ("statement_timeout", format!("{}ms", options.statement_timeout.as_millis())),
                ("jit", "off".into()),
                // Ends the transactions of a node that disappeared without closing its connections, and releases their
                // locks.
                ("idle_in_transaction_session_timeout", "120s".into()),
            ])
            .log_slow_statements(tracing::log::LevelFilter::Warn, Duration::from_secs(1))
            .log_statements(tracing::log::LevelFilter::Trace);
        let queue_pool = PgPoolOptions::new()
            .max_connections(QUEUE_CONNECTIONS)
            .acquire_timeout(options.acquire_timeout)
            .connect_lazy_with(connect_options.clone());
        let max_connections = options.max_connections.saturating_sub(QUEUE_CONNECTIONS).max(1) as usize;
        let pool =
            ConnectionPool::new(connect_options, max_connections, options.acquire_timeout, options.statement_timeout);
        Ok(Self { pool: Arc::new(pool), queue_pool, large_lists: Arc::default() })
    }

    pub async fn connection(&self) -> Result<PooledConnection> {
        self.pool.acquire().await
    }

    pub async fn begin(&self) -> Result<Transaction> {
        Transaction::begin(self.pool.acquire().await?).await
    }

    /// Returns whether the database responds and has the schema that this program needs, or a later one.
    pub async fn is_ready(&self) -> Result<bool> {
        const QUERY: &str = "select exists (select from _sqlx_migrations where version >= $1 and success)";
        let mut connection = self.connection().await?;
        Ok(sqlx::query_scalar(QUERY).bind(crate::migrate::newest_version()).fetch_one(&mut *connection).await?)
    }

    /// Returns the pool for the job queue, which executes its own statements.
    pub fn queue_pool(&self) -> &PgPool {
        &self.queue_pool
    }

    /// Returns how many of the node's connections are in use, including those of the job queue.
    pub fn pool_usage(&self) -> PoolUsage {
        let usage = self.pool.usage();
        let (open, idle) = (self.queue_pool.size(), self.queue_pool.num_idle() as u32);
        PoolUsage {
            busy: usage.busy + open.saturating_sub(idle),
            idle: usage.idle + idle,
            unopened: usage.unopened + QUEUE_CONNECTIONS.saturating_sub(open),
        }
    }

    pub async fn replication_status(&self) -> Result<ReplicationStatus> {
        const QUERY: &str = "select count(*) as replicas, max(extract(epoch from replay_lag))::float8 as lag_seconds \
                             from pg_stat_replication";
        Ok(sqlx::query_as(QUERY).fetch_one(&mut *self.connection().await?).await?)
    }

    pub async fn close(&self) {
        self.pool.close();
        self.queue_pool.close().await;
    }
}

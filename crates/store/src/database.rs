//! The pool, and what every connection is told.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection as _, PgPool};

use crate::Result;
use crate::page::LargeLists;

pub type Connection = sqlx::PgConnection;
pub type Transaction = sqlx::Transaction<'static, sqlx::Postgres>;

/// Whether it could be an address of PostgreSQL; the reason does not repeat it.
pub fn check_url(url: &str) -> std::result::Result<(), String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("it does not begin with postgres://".into());
    }
    match PgConnectOptions::from_str(url) {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Configuration(cause)) => Err(format!("it cannot be read: {cause}")),
        Err(_) => Err("it cannot be read".into()),
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub url: String,
    pub max_connections: u32,
    pub acquire_timeout: Duration,
    pub statement_timeout: Duration,
}

/// Of the connections that a node may have.
#[derive(Clone, Copy, Debug)]
pub struct PoolUse {
    pub busy: u32,
    pub idle: u32,
    pub unopened: u32,
}

const TRUSTED_FOR: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Database {
    pool: PgPool,
    pub(crate) large_lists: Arc<LargeLists>,
}

impl Database {
    /// Opens no connection yet: a node starts, and says that it is not ready, while its database is away.
    pub fn new(options: &Options) -> Result<Self> {
        let connect = PgConnectOptions::from_str(&options.url)?
            .application_name("holdfast")
            // Compiling a plan takes longer than any of ours runs.
            .options([
                ("statement_timeout", format!("{}ms", options.statement_timeout.as_millis())),
                ("jit", "off".into()),
                // What a node held that vanished without a word.
                ("idle_in_transaction_session_timeout", "120s".into()),
            ])
            .log_slow_statements(tracing::log::LevelFilter::Warn, Duration::from_secs(1))
            .log_statements(tracing::log::LevelFilter::Trace);
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            .test_before_acquire(false)
            .before_acquire(|connection, about| {
                Box::pin(async move {
                    // A connection that was in use a moment ago is taken at its word: asking costs a round trip.
                    if about.idle_for > TRUSTED_FOR {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(connect);
        Ok(Self { pool, large_lists: Arc::default() })
    }

    pub async fn connection(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Postgres>> {
        Ok(self.pool.acquire().await?)
    }

    pub async fn begin(&self) -> Result<Transaction> {
        Ok(self.pool.begin().await?)
    }

    /// Whether the database answers and has the schema that this program needs, or a later one.
    pub async fn is_ready(&self) -> Result<bool> {
        const QUERY: &str = "select exists (select from _sqlx_migrations where version >= $1 and success)";
        Ok(sqlx::query_scalar(QUERY).bind(crate::migrate::newest()).fetch_one(&self.pool).await?)
    }

    /// For the job queue, which brings its own statements.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub fn pool_use(&self) -> PoolUse {
        let (open, idle) = (self.pool.size(), self.pool.num_idle() as u32);
        let unopened = self.pool.options().get_max_connections().saturating_sub(open);
        PoolUse { busy: open.saturating_sub(idle), idle, unopened }
    }

    /// How many servers follow, and how many seconds the last of them is behind; only who may read all statistics
    /// (`pg_read_all_stats`) is told the second.
    pub async fn replication(&self) -> Result<(i64, Option<f64>)> {
        const QUERY: &str = "select count(*), max(extract(epoch from replay_lag))::float8 from pg_stat_replication";
        Ok(sqlx::query_as(QUERY).fetch_one(&mut *self.connection().await?).await?)
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

pub async fn commit(transaction: Transaction) -> Result<()> {
    Ok(transaction.commit().await?)
}

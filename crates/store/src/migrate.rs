//! The migrations of the schema, embedded in the binary.
//!
//! They are applied under an advisory lock, so that several nodes can start at once. The URL must reach the server
//! directly, not through a pooler in transaction mode.

use std::time::{Duration, Instant};

use chrono::NaiveDate;
use graphile_worker::{Schema, WorkerUtils};
use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::MissedTickBehavior;

use crate::error::describe;
use crate::worker::TASKS;

static MIGRATOR: Migrator = sqlx::migrate!();

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}", describe(.0))]
    Connect(sqlx::Error),
    #[error("migration failed: {0}")]
    Migrate(#[from] MigrateError),
    #[error("migration of the job queue failed: {0}")]
    Queue(String),
    #[error("creating partitions failed: {0}")]
    Partitions(#[from] crate::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Connect(error)
    }
}

impl Error {
    /// Returns whether no encrypted connection could be established, for example because the certificate of the server is
    /// not trusted.
    pub fn is_tls(&self) -> bool {
        match self {
            Self::Connect(sqlx::Error::Tls(_)) => true,
            // The driver passes errors of the handshake on as I/O errors.
            Self::Connect(sqlx::Error::Io(cause)) => cause.kind() == std::io::ErrorKind::InvalidData,
            _ => false,
        }
    }
}

/// How the schema of a database compares with the migrations of this binary.
#[derive(Debug, PartialEq, Eq)]
pub enum SchemaState {
    Current,
    /// The number of migrations that are not applied yet.
    Behind(usize),
    /// The schema has migrations that this binary does not know: a newer version was installed before.
    Ahead,
}

/// Returns the version of the newest migration that this binary knows.
pub(crate) fn newest_version() -> i64 {
    MIGRATOR.iter().map(|step| step.version).max().unwrap_or_default()
}

/// Returns whether a migration was applied more than a day ago. Until then, nodes of the version before it may still
/// run, and everything they use must stay compatible with them.
pub(crate) async fn is_applied_for_a_day(connection: &mut PgConnection, version: i64) -> crate::Result<bool> {
    const QUERY: &str = "select exists (select from _sqlx_migrations \
         where version = $1 and success and installed_on < now() - interval '1 day')";
    Ok(sqlx::query_scalar(QUERY).bind(version).fetch_one(connection).await?)
}

/// Applies the migrations of the schema and of the job queue, and creates the upcoming partitions.
pub async fn run(url: &str, today: NaiveDate) -> Result<(), Error> {
    let mut connection = PgConnection::connect(url).await?;
    // The migrations of the job queue take no lock of their own. There is no timeout: another node may be building a
    // large index.
    sqlx::query("select pg_advisory_lock(7219001)").execute(&mut connection).await?;
    apply(&mut connection).await?;
    let pool = PgPoolOptions::new().max_connections(2).connect(url).await?;
    let migrated = WorkerUtils::new(pool.clone(), Schema::default()).migrate().await;
    pool.close().await;
    migrated.map_err(|error| Error::Queue(error.to_string()))?;
    // Inserts the names of all tasks, because otherwise the first transactions that enqueue a task would wait for each
    // other to insert its name.
    sqlx::query(
        "insert into graphile_worker._private_tasks (identifier) select unnest($1::text[]) on conflict do nothing",
    )
    .bind(TASKS.as_slice())
    .execute(&mut connection)
    .await?;
    crate::activity::partition::create_upcoming(&mut connection, today).await?;
    connection.close().await?;
    Ok(())
}

/// How long migrations are retried while they cannot get their locks.
const APPLY_TIMEOUT: Duration = Duration::from_secs(300);
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// Applies the migrations, and retries after a lock timeout or a deadlock.
///
/// While a migration waits for the lock of a table, all later statements on this table wait behind it. A request that
/// holds another lock could then deadlock with it, which PostgreSQL resolves after one second (`deadlock_timeout`) by
/// aborting either of them. The lock timeout is half of that.
async fn apply(connection: &mut PgConnection) -> Result<(), Error> {
    sqlx::query("set lock_timeout = '500ms'").execute(&mut *connection).await?;
    let (started_at, mut retries) = (Instant::now(), tokio::time::interval(RETRY_INTERVAL));
    retries.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        retries.tick().await;
        match MIGRATOR.run(&mut *connection).await {
            Err(error) if is_lock_conflict(&error) && started_at.elapsed() < APPLY_TIMEOUT => {}
            other => break other?,
        }
    }
    sqlx::query("reset lock_timeout").execute(connection).await?;
    Ok(())
}

/// Returns whether a migration could not get a lock in time, or was aborted because of a deadlock.
fn is_lock_conflict(error: &MigrateError) -> bool {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else { return false };
    cause.as_database_error().is_some_and(|error| matches!(error.code().as_deref(), Some("55P03" | "40P01")))
}

pub async fn state(url: &str) -> Result<SchemaState, Error> {
    let mut connection = PgConnection::connect(url).await?;
    let exists: bool =
        sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null").fetch_one(&mut connection).await?;
    let applied = match exists {
        true => connection.list_applied_migrations("_sqlx_migrations").await?,
        false => Vec::new(),
    };
    connection.close().await?;
    if applied.iter().any(|step| !MIGRATOR.version_exists(step.version)) {
        return Ok(SchemaState::Ahead);
    }
    match MIGRATOR.iter().count() - applied.len() {
        0 => Ok(SchemaState::Current),
        missing => Ok(SchemaState::Behind(missing)),
    }
}

//! The schema's steps, embedded in the binary. They are applied under PostgreSQL's advisory lock, so that many nodes
//! may start at once; the url must reach the server directly, not through a transaction-mode pooler.

use std::time::{Duration, Instant};

use chrono::NaiveDate;
use graphile_worker::{Schema, WorkerUtils};
use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::MissedTickBehavior;

use crate::worker::TASKS;

static MIGRATOR: Migrator = sqlx::migrate!();

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot reach the database: {0}")]
    Connect(#[from] sqlx::Error),
    #[error("migration failed: {0}")]
    Migrate(#[from] MigrateError),
    #[error("migration of the job queue failed: {0}")]
    Queue(String),
    #[error("making partitions failed: {0}")]
    Partitions(#[from] crate::Error),
}

/// What stands between the schema and this binary.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Current,
    /// Steps still to be applied.
    Behind(usize),
    /// The schema has steps that this binary does not know: a newer version has been here.
    Ahead,
}

/// The last step this program knows.
pub(crate) fn newest() -> i64 {
    MIGRATOR.iter().map(|step| step.version).max().unwrap_or_default()
}

/// Returns whether a migration was applied more than a day ago. Until then nodes of the version before it may still run, and
/// what they use must stay as they know it.
pub(crate) async fn is_applied_for_a_day(connection: &mut PgConnection, version: i64) -> crate::Result<bool> {
    const QUERY: &str = "select exists (select from _sqlx_migrations \
         where version = $1 and success and installed_on < now() - interval '1 day')";
    Ok(sqlx::query_scalar(QUERY).bind(version).fetch_one(connection).await?)
}

/// The schema, that of the job queue, and the partitions from today on.
pub async fn run(url: &str, today: NaiveDate) -> Result<(), Error> {
    let mut connection = PgConnection::connect(url).await?;
    // One at a time, for the queue takes no lock of its own; and waited for as long as it takes, which a large index may.
    sqlx::query("select pg_advisory_lock(7219001)").execute(&mut connection).await?;
    apply(&mut connection).await?;
    let pool = PgPoolOptions::new().max_connections(2).connect(url).await?;
    let migrated = WorkerUtils::new(pool.clone(), Schema::default()).migrate().await;
    pool.close().await;
    migrated.map_err(|error| Error::Queue(error.to_string()))?;
    // Otherwise the first transactions to queue a task would wait for each other to name it.
    sqlx::query(
        "insert into graphile_worker._private_tasks (identifier) select unnest($1::text[]) on conflict do nothing",
    )
    .bind(TASKS.as_slice())
    .execute(&mut connection)
    .await?;
    crate::activity::partition::make(&mut connection, today).await?;
    connection.close().await?;
    Ok(())
}

/// How long is tried to find a moment in which a step can be made.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(250);

/// While a step waits for a table, everybody else waits behind it, and a request that has locked another one would wait in a
/// circle with it: PostgreSQL would end one of them after a second. So a step waits for half as long, and is tried again.
async fn apply(connection: &mut PgConnection) -> Result<(), Error> {
    sqlx::query("set lock_timeout = '500ms'").execute(&mut *connection).await?;
    let (begun, mut again) = (Instant::now(), tokio::time::interval(PAUSE));
    again.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        again.tick().await;
        match MIGRATOR.run(&mut *connection).await {
            Err(error) if has_waited(&error) && begun.elapsed() < PATIENCE => {}
            other => break other?,
        }
    }
    sqlx::query("reset lock_timeout").execute(connection).await?;
    Ok(())
}

fn has_waited(error: &MigrateError) -> bool {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else { return false };
    cause.as_database_error().is_some_and(|error| error.code().as_deref() == Some("55P03"))
}

pub async fn state(url: &str) -> Result<State, Error> {
    let mut connection = PgConnection::connect(url).await?;
    let exists: bool =
        sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null").fetch_one(&mut connection).await?;
    let applied = match exists {
        true => connection.list_applied_migrations("_sqlx_migrations").await?,
        false => Vec::new(),
    };
    connection.close().await?;
    if applied.iter().any(|step| !MIGRATOR.version_exists(step.version)) {
        return Ok(State::Ahead);
    }
    match MIGRATOR.iter().count() - applied.len() {
        0 => Ok(State::Current),
        missing => Ok(State::Behind(missing)),
    }
}

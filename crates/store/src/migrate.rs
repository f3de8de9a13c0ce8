//! The schema's steps, embedded in the binary. They are applied under PostgreSQL's advisory lock, so that many nodes
//! may start at once; the url must reach the server directly, not through a transaction-mode pooler.

use sqlx::migrate::{Migrate, MigrateError, Migrator};
use sqlx::{Connection, PgConnection};

static MIGRATOR: Migrator = sqlx::migrate!();

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot reach the database: {0}")]
    Connect(#[from] sqlx::Error),
    #[error("migration failed: {0}")]
    Migrate(#[from] MigrateError),
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

/// As PostgreSQL numbers itself: 150004 is 15.4.
pub async fn server_version(url: &str) -> Result<i32, Error> {
    let mut connection = PgConnection::connect(url).await?;
    let version =
        sqlx::query_scalar("select current_setting('server_version_num')::int").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(version)
}

pub async fn run(url: &str) -> Result<(), Error> {
    let mut connection = PgConnection::connect(url).await?;
    MIGRATOR.run(&mut connection).await?;
    connection.close().await?;
    Ok(())
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

//! Database errors, with the distinctions that callers act on: the violated constraint, and temporary unavailability.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[error("{}", describe(.0))]
pub struct Error(sqlx::Error);

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

/// Describes an error of the driver for operators, without the line of PostgreSQL's source code that the driver adds.
pub(crate) fn describe(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(cause) => cause.message().to_owned(),
        sqlx::Error::Io(cause) => cause.to_string(),
        sqlx::Error::PoolTimedOut => {
            "cannot connect to the database, or all connections of this process are in use".into()
        }
        other => other.to_string(),
    }
}

impl Error {
    pub(crate) fn row_not_found() -> Self {
        Self(sqlx::Error::RowNotFound)
    }

    /// Creates the error for a stored value that cannot be converted to its type.
    pub(crate) fn invalid_value(what: &'static str) -> Self {
        Self(sqlx::Error::Decode(format!("{what} in the database is invalid").into()))
    }

    /// Returns the name of the unique or foreign key constraint that a write violated.
    pub fn constraint(&self) -> Option<&str> {
        self.0.as_database_error().and_then(|error| error.constraint())
    }

    /// Returns whether a write referred to a row that does not exist, for example because it was deleted concurrently.
    pub fn is_missing_parent(&self) -> bool {
        self.0.as_database_error().is_some_and(|error| error.is_foreign_key_violation())
    }

    /// Returns whether the database is temporarily unavailable, independently of the request: there is no connection
    /// (class 08, which PgBouncer sends if it has no server), or the server is starting, stopping, read-only or out of
    /// resources (class 53), canceled a statement that exceeded its timeout, or aborted a transaction because of a
    /// deadlock or a serialization failure.
    pub fn is_unavailable(&self) -> bool {
        match &self.0 {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
            // A proxy without a server accepts a connection and closes it. The driver reads the missing reply to its
            // TLS request as a zero byte and reports a protocol error. A close during the handshake is a TLS error.
            sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => true,
            sqlx::Error::Database(error) => {
                let (classes, codes) = (["08", "53", "57"], ["25006", "40001", "40P01"]);
                let is_transient =
                    |code: &str| classes.iter().any(|class| code.starts_with(class)) || codes.contains(&code);
                error.code().is_some_and(|code| is_transient(&code))
            }
            _ => false,
        }
    }
}

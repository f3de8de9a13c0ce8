//! Failures of the database, with the one distinction that callers act on: which constraint was broken.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] sqlx::Error);

impl Error {
    pub(crate) fn missing_row() -> Self {
        Self(sqlx::Error::RowNotFound)
    }

    /// What is stored is not what was stored.
    pub(crate) fn unreadable(what: &'static str) -> Self {
        Self(sqlx::Error::Decode(format!("{what} cannot be read").into()))
    }

    /// The name of the unique or foreign key constraint that refused a write.
    pub fn constraint(&self) -> Option<&str> {
        self.0.as_database_error().and_then(|error| error.constraint())
    }

    /// A write named a row that has just gone.
    pub fn is_missing_parent(&self) -> bool {
        self.0.as_database_error().is_some_and(|error| error.is_foreign_key_violation())
    }

    /// The database cannot serve at the moment, through no fault of the request: no connection is to be had (class 08,
    /// which PgBouncer answers when it has no server), or the server is starting, stopping, read-only, out of room
    /// (class 53), too busy to finish a statement in time, or had to end one of two transactions that waited for each
    /// other.
    pub fn is_unavailable(&self) -> bool {
        match &self.0 {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
            // A proxy without a server accepts a connection and closes it. The driver reads the missing reply to its
            // request for TLS as a zero byte, which is a protocol error, and a close during the handshake is one of TLS.
            sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => true,
            sqlx::Error::Database(error) => {
                let (classes, known) = (["08", "53", "57"], ["25006", "40001", "40P01"]);
                let is_known =
                    |code: &str| classes.iter().any(|class| code.starts_with(class)) || known.contains(&code);
                error.code().is_some_and(|code| is_known(&code))
            }
            _ => false,
        }
    }
}

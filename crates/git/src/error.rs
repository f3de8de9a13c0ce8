//! The error type of this crate.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// The result of a function that runs git.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why git, or the conversation with a git client, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("running git failed: {0}")]
    Io(#[from] std::io::Error),
    /// `detail` is the last line that git wrote to stderr. It contains no secrets, because git receives them only in
    /// its environment.
    #[error("git {command} failed: {detail}")]
    CommandFailed { command: &'static str, detail: String },
    #[error("git {command} exceeded its time limit of {} s", .after.as_secs())]
    TimedOut { command: &'static str, after: Duration },
    /// The peer violated the protocol or a limit.
    #[error("{0}")]
    Protocol(String),
    #[error("object {0} cannot be read")]
    Object(String),
    #[error("object {0} is missing")]
    Missing(String),
}

impl Error {
    pub fn protocol(text: impl Into<String>) -> Self {
        Self::Protocol(text.into())
    }

    /// Returns the error of a git command that ended successfully, but did not do what it should. No client is the cause.
    pub fn unexpected_output(command: &'static str, detail: &str) -> Self {
        Self::CommandFailed { command, detail: detail.to_owned() }
    }

    /// Returns what git found wrong with an object, if that is the reason why it failed.
    pub fn malformed_object(&self) -> Option<&str> {
        match self {
            Self::CommandFailed { detail, .. } if detail.starts_with("object ") => Some(detail),
            _ => None,
        }
    }

    /// Returns whether the disk is full, as seen by this process or by git.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io(error) => is_storage_full(error),
            Self::CommandFailed { detail, .. } => {
                detail.contains("No space left on device") || detail.contains("Disk quota exceeded")
            }
            _ => false,
        }
    }
}

/// Returns a function that adds a path to the text of an I/O error, for `map_err`. The kind of the error stays the same.
pub fn add_path(path: &Path) -> impl FnOnce(std::io::Error) -> std::io::Error {
    move |error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns whether an error says that the disk or a quota is full.
pub fn is_storage_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

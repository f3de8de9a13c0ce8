use std::io::ErrorKind;
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("git cannot be used: {0}")]
    Io(#[from] std::io::Error),
    /// `said` is the last line of what it wrote, without secrets: it is never given any but by its environment.
    #[error("git {command} failed: {said}")]
    Failed { command: &'static str, said: String },
    #[error("git {command} took longer than {} s", .after.as_secs())]
    TimedOut { command: &'static str, after: Duration },
    /// The peer does not speak the protocol.
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

    /// There is no room left on the disk, for us or for git.
    pub fn is_of_full_disk(&self) -> bool {
        match self {
            Self::Io(error) => is_full(error),
            Self::Failed { said, .. } => {
                said.contains("No space left on device") || said.contains("Disk quota exceeded")
            }
            _ => false,
        }
    }
}

pub fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

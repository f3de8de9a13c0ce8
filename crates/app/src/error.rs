//! Errors of use cases. The entry points decide how an error is reported, such as the HTTP status.

use std::fmt;
use std::time::Duration;

use holdfast_domain::Violations;
use holdfast_git::is_storage_full;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("authentication is required")]
    Unauthenticated,
    #[error("the token lacks the scope {needed}")]
    InsufficientScope { needed: &'static str },
    #[error("forbidden{}", .0.map(|reason| format!(": {reason}")).unwrap_or_default())]
    Forbidden(Option<&'static str>),
    #[error("{0} not found")]
    NotFound(Resource),
    #[error("invalid attributes: {0:?}")]
    Invalid(Violations),
    /// A parameter has an unknown value.
    #[error("{0}")]
    Unprocessable(&'static str),
    #[error("{0}")]
    Conflict(String),
    /// Other requests updated a branch during every attempt to change it.
    #[error("The branch is updated too often at the moment; try again")]
    TooManyUpdates,
    /// The state of a merge request does not allow to merge it.
    #[error("the merge request cannot be merged in its present state")]
    NotMergeable,
    /// Git cannot merge two branches.
    #[error("the branches have conflicts")]
    MergeConflict,
    /// A prune ran after the request had checked that the objects it refers to exist.
    #[error("Unreachable objects were pruned during the request; try again")]
    PrunedConcurrently,
    /// Rejected for a reason that does not belong to a single attribute.
    #[error("{0}")]
    Rejected(String),
    /// Like [`Self::Rejected`], but reported in the format of the board endpoints.
    #[error("{0}")]
    RejectedWith(&'static str),
    #[error("the limit of {0} personal projects has been reached")]
    ProjectLimit(i32),
    #[error("the URL of a hook must begin with http:// or https://")]
    InvalidHookUrl,
    #[error("object store unavailable: {}", holdfast_store::objects::describe(.0))]
    ObjectStore(#[from] holdfast_store::objects::Error),
    #[error("{0}")]
    Git(#[source] holdfast_git::Error),
    #[error("too many requests")]
    Throttled { retry_after: Duration },
    /// A temporary condition, such as work in progress or a full disk. The client may try again.
    #[error("{0}")]
    TemporarilyUnavailable(&'static str),
    #[error("database unavailable: {0}")]
    DatabaseUnavailable(holdfast_store::Error),
    #[error("{0}")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The kind of thing that was not found, as the response names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    AwardEmoji,
    Blob,
    Board,
    Branch,
    Commit,
    DeployKey,
    Email,
    File,
    Group,
    GroupLink,
    Import,
    Issue,
    Key,
    Label,
    MergeRequest,
    Note,
    Project,
    References,
    Tag,
    TargetNamespace,
    Token,
    Tree,
    Trigger,
    User,
    Variable,
    /// A record looked up by id inside its parent.
    Record,
    /// The member with this user id, shown as `Member: user_id:5`.
    Member(i64),
    /// The complete text of the response.
    Literal(&'static str),
    /// The user that the request names to act as.
    SudoTarget(String),
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AwardEmoji => f.write_str("Award Emoji"),
            Self::Blob => f.write_str("Blob"),
            Self::Board => f.write_str("Board"),
            Self::Branch => f.write_str("Branch"),
            Self::Commit => f.write_str("Commit"),
            Self::DeployKey => f.write_str("Deploy Key"),
            Self::Email => f.write_str("Email"),
            Self::File => f.write_str("File"),
            Self::Group => f.write_str("Group"),
            Self::GroupLink => f.write_str("Group Link"),
            Self::Import => f.write_str("Import"),
            Self::Issue => f.write_str("Issue"),
            Self::Key => f.write_str("Key"),
            Self::Label => f.write_str("Label"),
            Self::MergeRequest => f.write_str("Merge Request"),
            Self::Note => f.write_str("Note"),
            Self::Project => f.write_str("Project"),
            Self::References => f.write_str("References for commit"),
            Self::Tag => f.write_str("Tag"),
            Self::TargetNamespace => f.write_str("Target Namespace"),
            Self::Token => f.write_str("Token"),
            Self::Tree => f.write_str("Tree"),
            Self::Trigger => f.write_str("Trigger"),
            Self::User => f.write_str("User"),
            Self::Variable => f.write_str("Variable"),
            Self::Record => f.write_str("record"),
            Self::Member(id) => write!(f, "Member: user_id:{id}"),
            Self::Literal(text) => f.write_str(text),
            Self::SudoTarget(name) => write!(f, "No user id or username for: {name}"),
        }
    }
}

impl From<holdfast_store::Error> for Error {
    fn from(error: holdfast_store::Error) -> Self {
        if error.is_missing_parent() {
            Self::NotFound(Resource::Record)
        } else if error.is_unavailable() {
            Self::DatabaseUnavailable(error)
        } else {
            Self::Internal(error.into())
        }
    }
}

impl From<holdfast_store::cache::Error> for Error {
    fn from(error: holdfast_store::cache::Error) -> Self {
        use holdfast_store::cache::Error as Cache;
        match error {
            Cache::Database(cause) => cause.into(),
            Cache::ObjectStore(cause) => cause.into(),
            Cache::Git(cause) => cause.into(),
            Cache::NoRepository => Self::NotFound(Resource::Project),
            Cache::Io(cause) if is_storage_full(&cause) => disk_full(&cause),
            // An interrupted download wraps the error of the object store in an I/O error.
            Cache::Io(cause) => match cause.downcast::<holdfast_store::objects::Error>() {
                Ok(cause) => Self::ObjectStore(cause),
                Err(cause) => Self::Internal(Cache::Io(cause).into()),
            },
            cause @ Cache::Missing(_) => Self::Internal(cause.into()),
        }
    }
}

impl From<holdfast_git::Error> for Error {
    fn from(error: holdfast_git::Error) -> Self {
        if error.is_disk_full() { disk_full(&error) } else { Self::Git(error) }
    }
}

impl From<std::io::Error> for Error {
    /// Unwraps errors of git that were passed through a byte stream.
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<holdfast_git::Error>() {
            Ok(cause) => cause.into(),
            Err(error) if is_storage_full(&error) => disk_full(&error),
            Err(error) => Self::Internal(error.into()),
        }
    }
}

/// Logs the error and returns a temporary one: cache eviction or an operator frees space.
fn disk_full(error: &impl fmt::Display) -> Error {
    tracing::error!(%error, "disk is full");
    Error::TemporarilyUnavailable("The server's disk is full; try again later")
}

impl From<Violations> for Error {
    fn from(violations: Violations) -> Self {
        Self::Invalid(violations)
    }
}

/// Converts a violated database constraint into an error that the client can act on.
pub(crate) trait OnConstraint<T> {
    fn on_constraint(self, name: &str, error: impl FnOnce() -> Error) -> Result<T>;
}

impl<T, E: Into<Error> + AsConstraint> OnConstraint<T> for std::result::Result<T, E> {
    fn on_constraint(self, name: &str, error: impl FnOnce() -> Error) -> Result<T> {
        self.map_err(|cause| if cause.constraint() == Some(name) { error() } else { cause.into() })
    }
}

pub(crate) trait AsConstraint {
    fn constraint(&self) -> Option<&str>;
}

impl AsConstraint for holdfast_store::Error {
    fn constraint(&self) -> Option<&str> {
        holdfast_store::Error::constraint(self)
    }
}

impl AsConstraint for Error {
    fn constraint(&self) -> Option<&str> {
        match self {
            Self::Internal(cause) => cause.downcast_ref::<holdfast_store::Error>()?.constraint(),
            _ => None,
        }
    }
}

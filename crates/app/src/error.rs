//! Why a use case did not do what was asked. Which status that is, is for the front door to say.

use std::fmt;
use std::time::Duration;

use holdfast_domain::Violations;
use holdfast_git::is_full;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("authentication is needed")]
    Unauthenticated,
    #[error("the token lacks the scope {needed}")]
    InsufficientScope { needed: &'static str },
    #[error("forbidden{}", .0.map(|reason| format!(": {reason}")).unwrap_or_default())]
    Forbidden(Option<&'static str>),
    #[error("{0} not found")]
    NotFound(Thing),
    #[error("invalid attributes: {0:?}")]
    Invalid(Violations),
    /// A value outside the ones that are known.
    #[error("{0}")]
    Unprocessable(&'static str),
    #[error("{0}")]
    Conflict(String),
    /// What a change leans on was looked for before objects were removed.
    #[error("The repository was cleaned up meanwhile, please try again")]
    CleanedUp,
    /// For a reason that is no single attribute's.
    #[error("{0}")]
    Refused(String),
    /// The same, as boards tell it.
    #[error("{0}")]
    RefusedWith(&'static str),
    #[error("the limit of {0} personal projects is reached")]
    ProjectLimit(i32),
    #[error("the address of a hook is no http or https url")]
    InvalidHookUrl,
    #[error("the object store does not answer: {0}")]
    ObjectStore(#[from] holdfast_store::objects::Error),
    #[error("{0}")]
    Git(#[source] holdfast_git::Error),
    #[error("too many requests")]
    Throttled { retry_after: Duration },
    /// What passes by itself: work that was begun, a disk that is full.
    #[error("{0}")]
    NotYet(&'static str),
    #[error("the database cannot be reached: {0}")]
    Unavailable(holdfast_store::Error),
    #[error("{0}")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What was looked for, as the answer names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    Blob,
    Board,
    Branch,
    Commit,
    Email,
    File,
    Group,
    GroupLink,
    Import,
    Issue,
    Key,
    Label,
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
    /// `Member: user_id:5`
    Member(i64),
    /// The whole answer.
    Named(&'static str),
    /// Whom to act as.
    SudoTarget(String),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blob => f.write_str("Blob"),
            Self::Board => f.write_str("Board"),
            Self::Branch => f.write_str("Branch"),
            Self::Commit => f.write_str("Commit"),
            Self::Email => f.write_str("Email"),
            Self::File => f.write_str("File"),
            Self::Group => f.write_str("Group"),
            Self::GroupLink => f.write_str("Group Link"),
            Self::Import => f.write_str("Import"),
            Self::Issue => f.write_str("Issue"),
            Self::Key => f.write_str("Key"),
            Self::Label => f.write_str("Label"),
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
            Self::Named(text) => f.write_str(text),
            Self::SudoTarget(who) => write!(f, "No user id or username for: {who}"),
        }
    }
}

impl From<holdfast_store::Error> for Error {
    fn from(error: holdfast_store::Error) -> Self {
        if error.is_missing_parent() {
            Self::NotFound(Thing::Record)
        } else if error.is_unavailable() {
            Self::Unavailable(error)
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
            Cache::NoRepository => Self::NotFound(Thing::Project),
            Cache::Io(cause) if is_full(&cause) => full_disk(&cause),
            // A download that broke off.
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
        if error.is_of_full_disk() { full_disk(&error) } else { Self::Git(error) }
    }
}

impl From<std::io::Error> for Error {
    /// What git said may have come on the way of bytes.
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<holdfast_git::Error>() {
            Ok(cause) => cause.into(),
            Err(error) if is_full(&error) => full_disk(&error),
            Err(error) => Self::Internal(error.into()),
        }
    }
}

/// For now: somebody makes room, or other copies go.
fn full_disk(error: &impl fmt::Display) -> Error {
    tracing::error!(%error, "this node's disk is full");
    Error::NotYet("This node's disk is full, please try again later")
}

impl From<Violations> for Error {
    fn from(violations: Violations) -> Self {
        Self::Invalid(violations)
    }
}

/// Turns a broken constraint into what the caller can act on.
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

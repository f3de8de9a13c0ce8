//! Actions, subjects and audiences of events.

/// The action of a user that an event of the feed records. The numbers are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The project, or the subject of the event, was created.
    Created = 1,
    Closed = 3,
    Reopened = 4,
    /// Refs were pushed. The details of the event say whether a ref was created, updated or deleted.
    Pushed = 5,
    Commented = 6,
    /// A merge request was merged.
    Merged = 7,
    Joined = 8,
    Left = 9,
    Expired = 11,
    /// The project was created from a repository of another server.
    Imported = 12,
}

impl Action {
    const ALL: [Self; 10] = [
        Self::Created,
        Self::Closed,
        Self::Reopened,
        Self::Pushed,
        Self::Commented,
        Self::Merged,
        Self::Joined,
        Self::Left,
        Self::Expired,
        Self::Imported,
    ];

    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    /// Returns the name of the action in the feed. It depends on whether the event is about the project or a subject in
    /// it.
    pub const fn feed_name(self, has_subject: bool) -> &'static str {
        match self {
            Self::Created if has_subject => "opened",
            Self::Reopened => "opened",
            Self::Closed => "closed",
            Self::Commented => "commented on",
            Self::Merged => "accepted",
            Self::Created => "created",
            Self::Imported => "imported",
            Self::Pushed => "pushed to",
            Self::Joined => "joined",
            Self::Left => "left",
            Self::Expired => "removed due to membership expiration from",
        }
    }
}

/// The error for a number that is no action of an event.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not an event action")]
pub struct UnknownAction(i16);

impl TryFrom<i16> for Action {
    type Error = UnknownAction;

    fn try_from(code: i16) -> Result<Self, UnknownAction> {
        Self::ALL.into_iter().find(|action| action.as_i16() == code).ok_or(UnknownAction(code))
    }
}

/// The kind of an event's subject. The numbers are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    Issue = 1,
    MergeRequest = 2,
    Milestone = 3,
    /// The subject is a comment on a commit.
    Commit = 4,
}

impl SubjectKind {
    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "Issue",
            Self::MergeRequest => "MergeRequest",
            Self::Milestone => "Milestone",
            Self::Commit => "Commit",
        }
    }

    pub fn from_i16(code: i16) -> Option<Self> {
        let all = [Self::Issue, Self::MergeRequest, Self::Milestone, Self::Commit];
        all.into_iter().find(|kind| kind.as_i16() == code)
    }
}

/// The users that see an event, among those that see the project. The numbers are stored in the database. Each audience
/// includes the following ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    Everybody = 0,
    /// Users that may read the code.
    CodeReaders = 1,
    /// Users that may read all confidential issues.
    IssueManagers = 2,
}

impl Audience {
    pub const ALL: [Self; 3] = [Self::Everybody, Self::CodeReaders, Self::IssueManagers];

    pub const fn as_i16(self) -> i16 {
        self as i16
    }
}

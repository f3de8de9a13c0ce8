/// What somebody did, as the feed records it. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The project, or what the event is about.
    Created = 1,
    Closed = 3,
    Reopened = 4,
    /// Its details say whether a ref was made, moved or removed.
    Pushed = 5,
    Commented = 6,
    Joined = 8,
    Left = 9,
    Expired = 11,
    /// Created, with a history from elsewhere.
    Imported = 12,
}

impl Action {
    const ALL: [Self; 9] = [
        Self::Created,
        Self::Closed,
        Self::Reopened,
        Self::Pushed,
        Self::Commented,
        Self::Joined,
        Self::Left,
        Self::Expired,
        Self::Imported,
    ];

    pub const fn code(self) -> i16 {
        self as i16
    }

    /// As the feed calls it, of the project itself or of something in it.
    pub const fn name(self, of_subject: bool) -> &'static str {
        match self {
            Self::Created if of_subject => "opened",
            Self::Reopened => "opened",
            Self::Closed => "closed",
            Self::Commented => "commented on",
            Self::Created => "created",
            Self::Imported => "imported",
            Self::Pushed => "pushed to",
            Self::Joined => "joined",
            Self::Left => "left",
            Self::Expired => "removed due to membership expiration from",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is no action of an event")]
pub struct UnknownAction(i16);

impl TryFrom<i16> for Action {
    type Error = UnknownAction;

    fn try_from(code: i16) -> Result<Self, UnknownAction> {
        Self::ALL.into_iter().find(|action| action.code() == code).ok_or(UnknownAction(code))
    }
}

/// What an event can be about. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    Issue = 1,
    Milestone = 3,
}

impl SubjectKind {
    pub const fn code(self) -> i16 {
        self as i16
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "Issue",
            Self::Milestone => "Milestone",
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        [Self::Issue, Self::Milestone].into_iter().find(|kind| kind.code() == code)
    }
}

/// Who of those that see the project is told of an event. The numbers are stored; each includes those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    Everybody = 0,
    /// Who may read the code.
    CodeReaders = 1,
    /// Who sees all confidential issues.
    IssueManagers = 2,
}

impl Audience {
    pub const ALL: [Self; 3] = [Self::Everybody, Self::CodeReaders, Self::IssueManagers];

    pub const fn code(self) -> i16 {
        self as i16
    }
}

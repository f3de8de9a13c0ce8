/// What somebody did, as the feed records it. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Created = 1,
    /// Its details say whether a ref was made, moved or removed.
    Pushed = 5,
    Joined = 8,
    Left = 9,
    Expired = 11,
    /// Created, with a history from elsewhere.
    Imported = 12,
}

impl Action {
    const ALL: [Self; 6] = [Self::Imported, Self::Created, Self::Pushed, Self::Joined, Self::Left, Self::Expired];

    pub const fn code(self) -> i16 {
        self as i16
    }

    pub const fn name(self) -> &'static str {
        match self {
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

/// What somebody did, as the feed records it. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Created = 1,
    Joined = 8,
    Left = 9,
    Expired = 11,
}

impl Action {
    const ALL: [Self; 4] = [Self::Created, Self::Joined, Self::Left, Self::Expired];

    pub const fn code(self) -> i16 {
        self as i16
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
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

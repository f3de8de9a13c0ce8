use crate::ids::UserId;

/// Where an issue stands. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueState {
    Opened = 1,
    Closed = 2,
    /// Open, and once it was closed.
    Reopened = 3,
}

impl IssueState {
    pub const fn code(self) -> i16 {
        self as i16
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Reopened => "reopened",
        }
    }

    /// None where the event changes nothing.
    pub const fn after(self, event: StateEvent) -> Option<Self> {
        match (self, event) {
            (Self::Opened | Self::Reopened, StateEvent::Close) => Some(Self::Closed),
            (Self::Closed, StateEvent::Reopen) => Some(Self::Reopened),
            (Self::Closed, StateEvent::Close) | (Self::Opened | Self::Reopened, StateEvent::Reopen) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEvent {
    Close,
    Reopen,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is no state of an issue")]
pub struct UnknownState(i16);

impl TryFrom<i16> for IssueState {
    type Error = UnknownState;

    fn try_from(code: i16) -> Result<Self, UnknownState> {
        [Self::Opened, Self::Closed, Self::Reopened]
            .into_iter()
            .find(|state| state.code() == code)
            .ok_or(UnknownState(code))
    }
}

/// Which of a project's confidential issues somebody sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    All,
    /// What the user wrote or is to do.
    Own(UserId),
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_twice_changes_nothing() {
        let closed = IssueState::Opened.after(StateEvent::Close).unwrap();
        assert_eq!((closed, closed.after(StateEvent::Close)), (IssueState::Closed, None));
        let reopened = closed.after(StateEvent::Reopen).unwrap();
        assert_eq!((reopened, reopened.after(StateEvent::Reopen)), (IssueState::Reopened, None));
        assert_eq!(reopened.after(StateEvent::Close), Some(IssueState::Closed));
    }
}

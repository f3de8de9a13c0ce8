//! States of issues, and access to confidential issues.

use crate::ids::UserId;

/// The state of an issue. The numbers are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueState {
    Opened = 1,
    Closed = 2,
    /// Open again after it was closed.
    Reopened = 3,
}

impl IssueState {
    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Reopened => "reopened",
        }
    }

    /// Returns the new state after an event, or None if the event changes nothing.
    pub const fn apply(self, event: StateEvent) -> Option<Self> {
        match (self, event) {
            (Self::Opened | Self::Reopened, StateEvent::Close) => Some(Self::Closed),
            (Self::Closed, StateEvent::Reopen) => Some(Self::Reopened),
            (Self::Closed, StateEvent::Close) | (Self::Opened | Self::Reopened, StateEvent::Reopen) => None,
        }
    }
}

/// A request of a user to close or reopen an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEvent {
    Close,
    Reopen,
}

/// The error for a number that is no state of an issue.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not an issue state")]
pub struct UnknownState(i16);

impl TryFrom<i16> for IssueState {
    type Error = UnknownState;

    fn try_from(code: i16) -> Result<Self, UnknownState> {
        [Self::Opened, Self::Closed, Self::Reopened]
            .into_iter()
            .find(|state| state.as_i16() == code)
            .ok_or(UnknownState(code))
    }
}

/// The confidential issues of a project that a user can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfidentialAccess {
    All,
    /// Issues that the user wrote or is assigned to.
    Own(UserId),
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_and_reopening_are_idempotent() {
        let closed = IssueState::Opened.apply(StateEvent::Close).unwrap();
        assert_eq!((closed, closed.apply(StateEvent::Close)), (IssueState::Closed, None));
        let reopened = closed.apply(StateEvent::Reopen).unwrap();
        assert_eq!((reopened, reopened.apply(StateEvent::Reopen)), (IssueState::Reopened, None));
        assert_eq!(reopened.apply(StateEvent::Close), Some(IssueState::Closed));
    }
}

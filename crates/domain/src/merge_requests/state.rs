//! States of merge requests.

use crate::planning::StateEvent;

/// The state of a merge request. The numbers are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRequestState {
    Opened = 1,
    Closed = 2,
    /// Open again after it was closed.
    Reopened = 3,
    Merged = 4,
}

impl MergeRequestState {
    pub const ALL: [Self; 4] = [Self::Opened, Self::Closed, Self::Reopened, Self::Merged];
    /// The states in which it can be merged.
    pub const OPEN: [Self; 2] = [Self::Opened, Self::Reopened];

    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Reopened => "reopened",
            Self::Merged => "merged",
        }
    }

    pub const fn is_open(self) -> bool {
        matches!(self, Self::Opened | Self::Reopened)
    }

    /// Returns the new state after an event, or None if the event changes nothing. A merged request stays merged.
    pub const fn apply(self, event: StateEvent) -> Option<Self> {
        match (self, event) {
            (Self::Opened | Self::Reopened, StateEvent::Close) => Some(Self::Closed),
            (Self::Closed, StateEvent::Reopen) => Some(Self::Reopened),
            _ => None,
        }
    }
}

/// The error for a number that is no state of a merge request.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a state of a merge request")]
pub struct UnknownMergeRequestState(i16);

impl TryFrom<i16> for MergeRequestState {
    type Error = UnknownMergeRequestState;

    fn try_from(code: i16) -> Result<Self, UnknownMergeRequestState> {
        Self::ALL.into_iter().find(|state| state.as_i16() == code).ok_or(UnknownMergeRequestState(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_is_final() {
        for event in [StateEvent::Close, StateEvent::Reopen] {
            assert_eq!(MergeRequestState::Merged.apply(event), None);
        }
        let closed = MergeRequestState::Opened.apply(StateEvent::Close).unwrap();
        let reopened = closed.apply(StateEvent::Reopen).unwrap();
        assert_eq!((closed, reopened), (MergeRequestState::Closed, MergeRequestState::Reopened));
        assert_eq!(reopened.apply(StateEvent::Close), Some(MergeRequestState::Closed));
        assert_eq!(reopened.apply(StateEvent::Reopen), None);
    }
}

//! Whether the branches of a merge request can be merged.

/// The result of the last test whether git can merge the branches. The numbers are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStatus {
    /// The present heads of the branches were not tested.
    Unchecked = 1,
    CanBeMerged = 2,
    CannotBeMerged = 3,
}

impl MergeStatus {
    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::CanBeMerged => "can_be_merged",
            Self::CannotBeMerged => "cannot_be_merged",
        }
    }
}

/// The error for a number that is no result of a test.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a merge status")]
pub struct UnknownMergeStatus(i16);

impl TryFrom<i16> for MergeStatus {
    type Error = UnknownMergeStatus;

    fn try_from(code: i16) -> Result<Self, UnknownMergeStatus> {
        let all = [Self::Unchecked, Self::CanBeMerged, Self::CannotBeMerged];
        all.into_iter().find(|status| status.as_i16() == code).ok_or(UnknownMergeStatus(code))
    }
}

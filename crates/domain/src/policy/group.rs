use super::{Minimum, Standing};
use crate::{AccessLevel, Visibility};

/// Actions on one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAction {
    Read,
    ReadMembers,
    /// Those of its projects that the caller can see.
    ReadIssues,
    Update,
    Delete,
    ManageMembers,
    CreateProject,
    /// Beside this, the group must allow it and the caller must not be in it.
    RequestAccess,
}

impl GroupAction {
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::ReadMembers,
        Self::ReadIssues,
        Self::Update,
        Self::Delete,
        Self::ManageMembers,
        Self::CreateProject,
        Self::RequestAccess,
    ];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::Read => "read the group",
            Self::ReadMembers => "list members",
            Self::ReadIssues => "list issues",
            Self::Update => "edit the group",
            Self::Delete => "delete the group",
            Self::ManageMembers => "add, change and remove members (everybody may remove himself); access requests",
            Self::CreateProject => "create a project in the group",
            Self::RequestAccess => "request access (if the group allows it)",
        }
    }

    pub(super) const fn minimum(self) -> Minimum {
        match self {
            Self::Read => Minimum::Visible,
            Self::ReadMembers | Self::ReadIssues | Self::RequestAccess => Minimum::VisibleAndSignedIn,
            Self::CreateProject => Minimum::Member(AccessLevel::Master),
            Self::Update | Self::Delete | Self::ManageMembers => Minimum::Member(AccessLevel::Owner),
        }
    }

    pub fn allowed(self, visibility: Visibility, standing: Standing, level: Option<AccessLevel>) -> bool {
        self.minimum().is_met(visibility, standing, level)
    }
}

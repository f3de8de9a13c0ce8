//! Permissions in a group.

use super::{InstanceRole, Requirement};
use crate::{AccessLevel, Visibility};

/// Actions on one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAction {
    Read,
    ReadMembers,
    /// Only issues of projects that the current user can see.
    ReadIssues,
    /// Only merge requests of projects that the current user can see.
    ReadMergeRequests,
    Update,
    Delete,
    ManageMembers,
    CreateProject,
    /// The group must also allow requests, and the current user must not be a member.
    RequestAccess,
}

impl GroupAction {
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::ReadMembers,
        Self::ReadIssues,
        Self::ReadMergeRequests,
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
            Self::ReadMergeRequests => "list merge requests",
            Self::Update => "edit the group",
            Self::Delete => "delete the group",
            Self::ManageMembers => {
                "add, edit and remove members (all may remove themselves), manage access requests and access tokens"
            }
            Self::CreateProject => "create a project in the group",
            Self::RequestAccess => "request access (if the group allows it)",
        }
    }

    const fn requirement(self) -> Requirement {
        match self {
            Self::Read => Requirement::Visible,
            Self::ReadMembers | Self::ReadIssues | Self::ReadMergeRequests | Self::RequestAccess => {
                Requirement::VisibleAndSignedIn
            }
            Self::CreateProject => Requirement::Member(AccessLevel::Master),
            Self::Update | Self::Delete | Self::ManageMembers => Requirement::Member(AccessLevel::Owner),
        }
    }

    pub fn is_allowed(self, visibility: Visibility, role: InstanceRole, level: Option<AccessLevel>) -> bool {
        self.requirement().is_satisfied_by(visibility, role, level)
    }
}

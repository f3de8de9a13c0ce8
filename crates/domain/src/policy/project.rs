use super::{Minimum, Standing};
use crate::{AccessLevel, Visibility};

/// Actions on one project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectAction {
    Read,
    /// The repository: to fetch from it and to look into it.
    ReadCode,
    /// To push to it; some branches want more.
    WriteCode,
    ProtectBranches,
    /// Beside this, the caller must be able to create a project where the fork goes.
    Fork,
    ReadMembers,
    Star,
    Upload,
    /// Beside this, the project must allow it and the caller must not be in it.
    RequestAccess,
    Update,
    ManageMembers,
    Share,
    ManageHooks,
    /// Its name or its visibility.
    Rename,
    Archive,
    Delete,
}

impl ProjectAction {
    pub const ALL: [Self; 16] = [
        Self::Read,
        Self::ReadCode,
        Self::WriteCode,
        Self::ProtectBranches,
        Self::Fork,
        Self::ReadMembers,
        Self::Star,
        Self::Upload,
        Self::RequestAccess,
        Self::Update,
        Self::ManageMembers,
        Self::Share,
        Self::ManageHooks,
        Self::Rename,
        Self::Archive,
        Self::Delete,
    ];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::Read => "read the project and its feed",
            Self::ReadCode => "clone, fetch, read branches, tags and files",
            Self::WriteCode => "push, create and delete branches and tags (protected branches: as their rules say)",
            Self::ProtectBranches => "protect and unprotect branches",
            Self::Fork => "fork",
            Self::ReadMembers => "list members",
            Self::Star => "star and unstar",
            Self::Upload => "upload a file",
            Self::RequestAccess => "request access (if the project allows it)",
            Self::Update => "edit the project",
            Self::ManageMembers => "add, change and remove members (everybody may remove himself); access requests",
            Self::Share => "share with a group",
            Self::ManageHooks => "read and edit hooks",
            Self::Rename => "change the name or the visibility",
            Self::Archive => "archive and unarchive",
            Self::Delete => "delete the project",
        }
    }

    /// Whether it puts something into the project, which an archived one does not take from anybody.
    pub const fn adds_content(self) -> bool {
        matches!(self, Self::Upload | Self::WriteCode)
    }

    pub(super) const fn minimum(self) -> Minimum {
        match self {
            Self::Read => Minimum::Visible,
            Self::ReadCode => Minimum::Code,
            Self::Fork => Minimum::CodeAndOrdinary,
            Self::WriteCode => Minimum::Member(AccessLevel::Developer),
            Self::ReadMembers | Self::Star | Self::Upload | Self::RequestAccess => Minimum::VisibleAndSignedIn,
            Self::Update | Self::ManageMembers | Self::Share | Self::ManageHooks | Self::ProtectBranches => {
                Minimum::Member(AccessLevel::Master)
            }
            Self::Rename | Self::Archive | Self::Delete => Minimum::Member(AccessLevel::Owner),
        }
    }

    /// `level` is the highest over all ways into the project.
    pub fn allowed(self, visibility: Visibility, standing: Standing, level: Option<AccessLevel>) -> bool {
        self.minimum().is_met(visibility, standing, level)
    }
}

use super::{Minimum, Standing};
use crate::{AccessLevel, Visibility};

/// What a project can have or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    Issues,
    /// Labels and milestones are for both.
    IssuesOrMergeRequests,
    Builds,
}

impl Feature {
    /// What is told where it is not.
    pub const fn missing(self) -> &'static str {
        match self {
            Self::Issues => "Issues are switched off in this project",
            Self::IssuesOrMergeRequests => "Issues and merge requests are switched off in this project",
            Self::Builds => "Builds are switched off in this project",
        }
    }
}

/// Actions on one project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectAction {
    Read,
    /// The repository: to fetch from it and to look into it.
    ReadCode,
    /// To push to it; some branches want more.
    WriteCode,
    /// Who moved which ref, and when.
    ReadRefLog,
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
    ManageLabels,
    /// To be told of what concerns a label.
    Subscribe,
    ReadBoards,
    ManageBoardLists,
    DeleteBoardList,
    ReadIssues,
    /// To say something about one as well.
    CreateIssue,
    ManageIssues,
    DeleteIssue,
    ModerateNotes,
    ReadMilestones,
    ManageMilestones,
    /// Pipelines, builds and what they left. Not for everybody where builds are not public.
    ReadBuilds,
    /// To start, retry and cancel, and to say how a commit does.
    ManageBuilds,
    /// Variables, triggers, runners and the projects whose builds may read this one.
    ManageCi,
    /// Its name or its visibility.
    Rename,
    Archive,
    Delete,
}

impl ProjectAction {
    pub const ALL: [Self; 32] = [
        Self::Read,
        Self::ReadCode,
        Self::WriteCode,
        Self::ReadRefLog,
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
        Self::ManageLabels,
        Self::Subscribe,
        Self::ReadBoards,
        Self::ManageBoardLists,
        Self::DeleteBoardList,
        Self::ReadIssues,
        Self::CreateIssue,
        Self::ManageIssues,
        Self::DeleteIssue,
        Self::ModerateNotes,
        Self::ReadMilestones,
        Self::ManageMilestones,
        Self::ReadBuilds,
        Self::ManageBuilds,
        Self::ManageCi,
        Self::Rename,
        Self::Archive,
        Self::Delete,
    ];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::Read => "read the project and its feed",
            Self::ReadCode => "clone, fetch, read branches, tags and files",
            Self::WriteCode => {
                "push, create branches and tags, delete branches (protected branches: as their rules say; existing tags: masters)"
            }
            Self::ReadRefLog => "read who moved which branch or tag, and when",
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
            Self::ManageLabels => "create, edit and delete labels",
            Self::Subscribe => "subscribe to a label",
            Self::ReadBoards => "read the board",
            Self::ManageBoardLists => "create and move board lists",
            Self::DeleteBoardList => "delete a board list",
            Self::ReadIssues => {
                "read issues and notes (confidential ones: who manages issues, the author, the assignee)"
            }
            Self::CreateIssue => "create an issue, say something about one, subscribe to it; edit what one wrote",
            Self::ManageIssues => {
                "edit, label, assign and move any issue, confidential ones included (the assignee may edit it, too)"
            }
            Self::DeleteIssue => "delete an issue",
            Self::ModerateNotes => "edit and delete what others said",
            Self::ReadMilestones => "read milestones",
            Self::ManageMilestones => "create and edit milestones",
            Self::ReadBuilds => {
                "read pipelines, builds, traces and artifacts (beyond reporters: only if builds are public)"
            }
            Self::ManageBuilds => "start, retry, cancel and erase pipelines and builds; set the status of a commit",
            Self::ManageCi => "read and edit variables, triggers, runners and the job token allow list",
            Self::Rename => "change the name or the visibility",
            Self::Archive => "archive and unarchive",
            Self::Delete => "delete the project",
        }
    }

    /// Whether it puts something into the project, which an archived one does not take from anybody.
    pub const fn adds_content(self) -> bool {
        matches!(self, Self::Upload | Self::WriteCode)
    }

    /// What must be switched on in the project, whoever asks.
    pub const fn needs(self) -> Option<Feature> {
        match self {
            Self::ReadIssues | Self::CreateIssue | Self::ManageIssues | Self::DeleteIssue | Self::ModerateNotes => {
                Some(Feature::Issues)
            }
            Self::ManageLabels | Self::Subscribe | Self::ReadMilestones | Self::ManageMilestones => {
                Some(Feature::IssuesOrMergeRequests)
            }
            Self::ReadBuilds | Self::ManageBuilds | Self::ManageCi => Some(Feature::Builds),
            _ => None,
        }
    }

    pub(super) const fn minimum(self) -> Minimum {
        match self {
            Self::Read => Minimum::Visible,
            Self::ReadCode | Self::ReadBuilds => Minimum::Code,
            Self::Fork => Minimum::CodeAndOrdinary,
            Self::WriteCode | Self::ReadRefLog | Self::ManageBuilds => Minimum::Member(AccessLevel::Developer),
            Self::ReadMembers | Self::Star | Self::Upload | Self::RequestAccess => Minimum::VisibleAndSignedIn,
            Self::Subscribe | Self::ReadBoards | Self::ReadIssues | Self::CreateIssue | Self::ReadMilestones => {
                Minimum::VisibleAndSignedIn
            }
            Self::ManageLabels | Self::ManageBoardLists | Self::ManageIssues => Minimum::Member(AccessLevel::Reporter),
            Self::Update | Self::ManageMembers | Self::Share | Self::ManageHooks | Self::ProtectBranches => {
                Minimum::Member(AccessLevel::Master)
            }
            Self::ModerateNotes | Self::ManageMilestones | Self::ManageCi => Minimum::Member(AccessLevel::Master),
            Self::Rename | Self::Archive | Self::Delete | Self::DeleteBoardList | Self::DeleteIssue => {
                Minimum::Member(AccessLevel::Owner)
            }
        }
    }

    /// `level` is the highest over all ways into the project.
    pub fn allowed(self, visibility: Visibility, standing: Standing, level: Option<AccessLevel>) -> bool {
        self.minimum().is_met(visibility, standing, level)
    }
}

//! Permissions in a project.

use super::{InstanceRole, Requirement};
use crate::{AccessLevel, Visibility};

/// A part of a project that can be disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    Issues,
    /// Labels and milestones belong to issues and to merge requests.
    IssuesOrMergeRequests,
    MergeRequests,
    Builds,
}

impl Feature {
    /// Returns the error for a request that needs a disabled feature.
    pub const fn disabled_message(self) -> &'static str {
        match self {
            Self::Issues => "Issues are switched off in this project",
            Self::IssuesOrMergeRequests => "Issues and merge requests are switched off in this project",
            Self::MergeRequests => "Merge requests are switched off in this project",
            Self::Builds => "Builds are switched off in this project",
        }
    }
}

/// Actions on one project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectAction {
    Read,
    /// Fetch from the repository and browse it.
    ReadCode,
    /// Push to the repository. Protected branches may require more.
    WriteCode,
    /// Read the author and time of all ref updates.
    ReadRefLog,
    CommentOnCommits,
    ProtectBranches,
    /// The current user must also be able to create a project in the target namespace.
    Fork,
    ReadMembers,
    Star,
    Upload,
    /// The project must also allow requests, and the current user must not be a member.
    RequestAccess,
    Update,
    ManageMembers,
    Share,
    ManageHooks,
    ManageDeployKeys,
    ManageLabels,
    /// Subscribe to a label.
    Subscribe,
    ReadBoards,
    ManageBoardLists,
    DeleteBoardList,
    ReadIssues,
    /// Create issues and notes.
    CreateIssue,
    ManageIssues,
    DeleteIssue,
    ModerateNotes,
    ReadMilestones,
    ManageMilestones,
    /// Read merge requests, their commits and their changes.
    ReadMergeRequests,
    /// Write notes on merge requests and subscribe to them.
    CommentOnMergeRequests,
    /// Propose to merge a branch of this project, here or in the project that it was forked from.
    CreateMergeRequest,
    /// Change any merge request. Authors and assignees change theirs.
    ManageMergeRequests,
    DeleteMergeRequest,
    /// Read pipelines, builds, traces and artifacts. Guests and non-members may only if builds are public.
    ReadBuilds,
    /// Start, retry, cancel and erase pipelines and builds, and set commit statuses.
    ManageBuilds,
    /// Manage variables, triggers, runners, and the projects whose builds may read this one.
    ManageCi,
    /// Change the name or the visibility.
    Rename,
    Archive,
    Delete,
}

impl ProjectAction {
    pub const ALL: [Self; 39] = [
        Self::Read,
        Self::ReadCode,
        Self::WriteCode,
        Self::ReadRefLog,
        Self::CommentOnCommits,
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
        Self::ManageDeployKeys,
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
        Self::ReadMergeRequests,
        Self::CommentOnMergeRequests,
        Self::CreateMergeRequest,
        Self::ManageMergeRequests,
        Self::DeleteMergeRequest,
        Self::ReadBuilds,
        Self::ManageBuilds,
        Self::ManageCi,
        Self::Rename,
        Self::Archive,
        Self::Delete,
    ];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::Read => "read the project and its events",
            Self::ReadCode => "clone, fetch, and read branches, tags and files",
            Self::WriteCode => {
                "push, create branches and tags, delete branches (protected ones: by their rules), change tags (masters)"
            }
            Self::ReadRefLog => "read the ref log",
            Self::CommentOnCommits => "comment on commits",
            Self::ProtectBranches => "protect and unprotect branches and tags",
            Self::Fork => "fork",
            Self::ReadMembers => "list members",
            Self::Star => "star and unstar",
            Self::Upload => "upload a file",
            Self::RequestAccess => "request access (if the project allows it)",
            Self::Update => "edit the project",
            Self::ManageMembers => {
                "add, edit and remove members (all may remove themselves), manage access requests and access tokens"
            }
            Self::Share => "share with a group",
            Self::ManageHooks => "read and edit hooks",
            Self::ManageDeployKeys => "read, add and remove deploy keys",
            Self::ManageLabels => "create, edit and delete labels",
            Self::Subscribe => "subscribe to a label",
            Self::ReadBoards => "read the board",
            Self::ManageBoardLists => "create and move board lists",
            Self::DeleteBoardList => "delete a board list",
            Self::ReadIssues => {
                "read issues and notes (confidential: only author, assignee and members that may edit any issue)"
            }
            Self::CreateIssue => "create issues and notes, edit own issues and notes, subscribe to issues",
            Self::ManageIssues => {
                "edit, label, assign and move any issue, including confidential ones (assignees may edit theirs)"
            }
            Self::DeleteIssue => "delete an issue",
            Self::ModerateNotes => "edit and delete notes of other users",
            Self::ReadMilestones => "read milestones",
            Self::ManageMilestones => "create and edit milestones",
            Self::ReadMergeRequests => "read merge requests",
            Self::CommentOnMergeRequests => {
                "write notes and start discussions on merge requests, resolve discussions of own merge requests, subscribe to them"
            }
            Self::CreateMergeRequest => "create merge requests",
            Self::ManageMergeRequests => {
                "edit, label, assign, close and reopen any merge request, resolve its discussions (authors and assignees may edit, close and reopen \
                 theirs; the rules of the target branch decide who may accept it)"
            }
            Self::DeleteMergeRequest => "delete a merge request",
            Self::ReadBuilds => {
                "read pipelines, builds, traces and artifacts (guests and non-members: only if builds are public)"
            }
            Self::ManageBuilds => "start, retry, cancel and erase pipelines and builds, set commit statuses",
            Self::ManageCi => "read and edit variables, triggers, runners and the job token allow list",
            Self::Rename => "change the name or the visibility",
            Self::Archive => "archive and unarchive",
            Self::Delete => "delete the project",
        }
    }

    /// Returns whether the action adds content to the project. An archived project rejects it for everybody.
    pub const fn adds_content(self) -> bool {
        matches!(self, Self::Upload | Self::WriteCode | Self::CreateMergeRequest | Self::ManageMergeRequests)
    }

    /// Returns the feature that the action needs. It must be enabled even for administrators.
    pub const fn required_feature(self) -> Option<Feature> {
        match self {
            Self::ReadIssues | Self::CreateIssue | Self::ManageIssues | Self::DeleteIssue | Self::ModerateNotes => {
                Some(Feature::Issues)
            }
            Self::ManageLabels | Self::Subscribe | Self::ReadMilestones | Self::ManageMilestones => {
                Some(Feature::IssuesOrMergeRequests)
            }
            Self::ReadMergeRequests
            | Self::CommentOnMergeRequests
            | Self::CreateMergeRequest
            | Self::ManageMergeRequests
            | Self::DeleteMergeRequest => Some(Feature::MergeRequests),
            Self::ReadBuilds | Self::ManageBuilds | Self::ManageCi => Some(Feature::Builds),
            _ => None,
        }
    }

    const fn requirement(self) -> Requirement {
        match self {
            Self::Read => Requirement::Visible,
            Self::ReadCode | Self::ReadBuilds => Requirement::Code,
            Self::Fork => Requirement::CodeAndRegular,
            Self::CommentOnCommits | Self::ReadMergeRequests | Self::CommentOnMergeRequests => {
                Requirement::CodeAndSignedIn
            }
            Self::WriteCode | Self::ReadRefLog | Self::ManageBuilds => Requirement::Member(AccessLevel::Developer),
            Self::CreateMergeRequest | Self::ManageMergeRequests => Requirement::Member(AccessLevel::Developer),
            Self::ReadMembers | Self::Star | Self::Upload | Self::RequestAccess => Requirement::VisibleAndSignedIn,
            Self::Subscribe | Self::ReadBoards | Self::ReadIssues | Self::CreateIssue | Self::ReadMilestones => {
                Requirement::VisibleAndSignedIn
            }
            Self::ManageLabels | Self::ManageBoardLists | Self::ManageIssues => {
                Requirement::Member(AccessLevel::Reporter)
            }
            Self::Update | Self::ManageMembers | Self::Share | Self::ManageHooks | Self::ProtectBranches => {
                Requirement::Member(AccessLevel::Master)
            }
            Self::ModerateNotes | Self::ManageMilestones | Self::ManageCi | Self::ManageDeployKeys => {
                Requirement::Member(AccessLevel::Master)
            }
            Self::Rename | Self::Archive | Self::Delete | Self::DeleteBoardList => {
                Requirement::Member(AccessLevel::Owner)
            }
            Self::DeleteIssue | Self::DeleteMergeRequest => Requirement::Member(AccessLevel::Owner),
        }
    }

    /// Returns whether the action is allowed. `level` is the highest access level from all memberships of the user.
    pub fn is_allowed(self, visibility: Visibility, role: InstanceRole, level: Option<AccessLevel>) -> bool {
        self.requirement().is_satisfied_by(visibility, role, level)
    }
}

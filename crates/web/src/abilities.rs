//! What the viewer may do in a project.
//!
//! Views ask these values before they show a link or a control, so that what a page offers is allowed. The use case
//! checks the permission again.

use holdfast_app::projects::project::Project;
use holdfast_app::{Actor, access};
use holdfast_domain::AccessLevel;
use holdfast_domain::policy::ProjectAction;

/// What the viewer of a page may do in its project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub can_write_code: bool,
    pub can_read_ref_log: bool,
    pub can_protect_branches: bool,
    /// Change or delete existing tags. Others may rely on them, so only masters may.
    pub can_change_tags: bool,
    pub can_fork: bool,
    pub can_star: bool,
    pub can_read_issues: bool,
    pub can_create_issues: bool,
    pub can_manage_issues: bool,
    pub can_delete_issues: bool,
    pub can_moderate_notes: bool,
    pub can_read_merge_requests: bool,
    pub can_comment_on_merge_requests: bool,
    pub can_create_merge_requests: bool,
    pub can_manage_merge_requests: bool,
    pub can_manage_labels: bool,
    pub can_manage_board_lists: bool,
    pub can_delete_board_lists: bool,
    pub can_subscribe: bool,
    pub can_read_milestones: bool,
    pub can_manage_milestones: bool,
    pub can_read_builds: bool,
    pub can_manage_builds: bool,
    pub can_update: bool,
    /// Change the name or the visibility.
    pub can_rename: bool,
    pub can_archive: bool,
}

impl Abilities {
    /// Creates the abilities of an actor who has been authorized to read the project.
    pub fn new(project: &Project, actor: &Actor) -> Self {
        let is_authorized = |action| access::is_authorized(actor, project, action);
        Self {
            can_write_code: is_authorized(ProjectAction::WriteCode),
            can_read_ref_log: is_authorized(ProjectAction::ReadRefLog),
            can_protect_branches: is_authorized(ProjectAction::ProtectBranches),
            can_change_tags: is_authorized(ProjectAction::WriteCode)
                && (actor.is_administrator() || project.level() >= Some(AccessLevel::Master)),
            can_fork: is_authorized(ProjectAction::Fork),
            can_star: is_authorized(ProjectAction::Star),
            can_read_issues: is_authorized(ProjectAction::ReadIssues),
            can_create_issues: is_authorized(ProjectAction::CreateIssue),
            can_manage_issues: is_authorized(ProjectAction::ManageIssues),
            can_delete_issues: is_authorized(ProjectAction::DeleteIssue),
            can_moderate_notes: is_authorized(ProjectAction::ModerateNotes),
            can_read_merge_requests: is_authorized(ProjectAction::ReadMergeRequests),
            can_comment_on_merge_requests: is_authorized(ProjectAction::CommentOnMergeRequests),
            can_create_merge_requests: is_authorized(ProjectAction::CreateMergeRequest),
            can_manage_merge_requests: is_authorized(ProjectAction::ManageMergeRequests),
            can_manage_labels: is_authorized(ProjectAction::ManageLabels),
            can_manage_board_lists: is_authorized(ProjectAction::ManageBoardLists),
            can_delete_board_lists: is_authorized(ProjectAction::DeleteBoardList),
            can_subscribe: is_authorized(ProjectAction::Subscribe),
            can_read_milestones: is_authorized(ProjectAction::ReadMilestones),
            can_manage_milestones: is_authorized(ProjectAction::ManageMilestones),
            can_read_builds: is_authorized(ProjectAction::ReadBuilds),
            can_manage_builds: is_authorized(ProjectAction::ManageBuilds),
            can_update: is_authorized(ProjectAction::Update),
            can_rename: is_authorized(ProjectAction::Rename),
            can_archive: is_authorized(ProjectAction::Archive),
        }
    }
}

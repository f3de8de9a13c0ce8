//! What the viewer may do in a project or a group.
//!
//! Views ask these values before they show a link or a control, so that what a page offers is allowed. The use case
//! checks the permission again.

use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::project::Project;
use holdfast_app::{Actor, access};
use holdfast_domain::AccessLevel;
use holdfast_domain::policy::{GroupAction, ProjectAction};

/// What the viewer of a page may do in its project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Abilities {
    pub can_write_code: bool,
    /// Create the first branch of a repository. It becomes the default one, which is protected.
    pub can_create_first_branch: bool,
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
    /// Delete the project, or move it to another namespace.
    pub can_delete: bool,
    pub can_read_members: bool,
    /// Ask to become a member. The viewer is none, and the project accepts requests.
    pub can_request_access: bool,
    /// Change members and decide about requests for access.
    pub can_manage_members: bool,
    /// Share the project with a group.
    pub can_share: bool,
    pub can_manage_hooks: bool,
    pub can_manage_deploy_keys: bool,
    /// Change variables, triggers and runners.
    pub can_manage_ci: bool,
}

impl Abilities {
    /// Creates the abilities of an actor who has been authorized to read the project.
    pub fn new(project: &Project, actor: &Actor) -> Self {
        let is_authorized = |action| access::is_authorized(actor, project, action);
        let can_write_code = is_authorized(ProjectAction::WriteCode);
        let is_master = actor.is_administrator() || project.level() >= Some(AccessLevel::Master);
        Self {
            can_write_code,
            can_create_first_branch: can_write_code && is_master,
            can_read_ref_log: is_authorized(ProjectAction::ReadRefLog),
            can_protect_branches: is_authorized(ProjectAction::ProtectBranches),
            can_change_tags: can_write_code && is_master,
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
            can_delete: is_authorized(ProjectAction::Delete),
            can_read_members: is_authorized(ProjectAction::ReadMembers),
            can_request_access: is_authorized(ProjectAction::RequestAccess)
                && project.level().is_none()
                && project.features.request_access_enabled,
            can_manage_members: is_authorized(ProjectAction::ManageMembers),
            can_share: is_authorized(ProjectAction::Share),
            can_manage_hooks: is_authorized(ProjectAction::ManageHooks),
            can_manage_deploy_keys: is_authorized(ProjectAction::ManageDeployKeys),
            can_manage_ci: is_authorized(ProjectAction::ManageCi),
        }
    }
}

/// What the viewer of a page may do in its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupAbilities {
    pub can_read_members: bool,
    /// Change members and decide about requests for access.
    pub can_manage_members: bool,
    /// Ask to become a member. The viewer is none, and the group accepts requests.
    pub can_request_access: bool,
    pub can_create_project: bool,
    pub can_update: bool,
    pub can_delete: bool,
}

impl GroupAbilities {
    /// Creates the abilities of an actor who has been authorized to read the group, and who has this level in it.
    pub fn new(group: &Group, level: Option<AccessLevel>, actor: &Actor) -> Self {
        let is_authorized = |action| access::is_authorized_in_group(actor, group, level, action);
        Self {
            can_read_members: is_authorized(GroupAction::ReadMembers),
            can_manage_members: is_authorized(GroupAction::ManageMembers),
            can_request_access: is_authorized(GroupAction::RequestAccess)
                && level.is_none()
                && group.request_access_enabled,
            can_create_project: is_authorized(GroupAction::CreateProject),
            can_update: is_authorized(GroupAction::Update),
            can_delete: is_authorized(GroupAction::Delete),
        }
    }
}

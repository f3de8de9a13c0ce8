//! What the viewer may do in a project or group, computed once from the policy.
//!
//! Templates ask these values before they show a control, so that what a page offers is allowed. The use case checks
//! the permission again.

use holdfast_app::Actor;
use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::project::Project;
use holdfast_domain::AccessLevel;
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};

/// What the viewer may do in a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub can_read_code: bool,
    pub can_write_code: bool,
    pub can_read_issues: bool,
    pub can_create_issue: bool,
    pub can_read_builds: bool,
    pub can_read_ref_log: bool,
    pub can_fork: bool,
    pub can_update: bool,
    pub is_signed_in: bool,
}

impl Abilities {
    pub fn new(project: &Project, actor: &Actor) -> Self {
        let is_allowed = |action: ProjectAction| action.is_allowed(project.visibility, actor.role(), project.level());
        let is_reporter = project.level().is_some_and(|level| level >= AccessLevel::Reporter);
        Self {
            can_read_code: is_allowed(ProjectAction::ReadCode),
            can_write_code: is_allowed(ProjectAction::WriteCode) && !project.archived,
            can_read_issues: is_allowed(ProjectAction::ReadIssues) && project.features.issues_enabled,
            can_create_issue: is_allowed(ProjectAction::CreateIssue) && project.features.issues_enabled,
            can_read_builds: is_allowed(ProjectAction::ReadBuilds)
                && project.features.builds_enabled
                && (project.features.public_builds || actor.is_administrator() || is_reporter),
            can_read_ref_log: is_allowed(ProjectAction::ReadRefLog),
            can_fork: is_allowed(ProjectAction::Fork),
            can_update: is_allowed(ProjectAction::Update),
            is_signed_in: actor.user_id().is_some(),
        }
    }
}

/// What the viewer may do in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupAbilities {
    pub can_create_project: bool,
    pub can_read_members: bool,
    pub can_update: bool,
}

impl GroupAbilities {
    pub fn new(group: &Group, level: Option<AccessLevel>, actor: &Actor) -> Self {
        let is_allowed = |action: GroupAction| action.is_allowed(group.visibility, actor.role(), level);
        let can_create = InstanceAction::CreateProject.is_allowed(actor.role());
        Self {
            can_create_project: can_create && is_allowed(GroupAction::CreateProject),
            can_read_members: is_allowed(GroupAction::ReadMembers),
            can_update: is_allowed(GroupAction::Update),
        }
    }
}

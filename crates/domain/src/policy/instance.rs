//! Permissions in the instance.

use super::InstanceRole;

/// Actions on the instance itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceAction {
    /// What the commands for operators do: checks, maintenance, recovery and background jobs.
    OperateInstance,
    ReadUsers,
    ManageUsers,
    ManageOwnAccount,
    ListGroups,
    /// The flag `can_create_group` of the current user is also required.
    CreateGroup,
    ListProjects,
    /// Issues that the current user wrote.
    ListIssues,
    ListAllProjects,
    /// List public projects and groups. Anonymous visitors also need the setting `web.public_projects`.
    ExplorePublic,
    /// The `projects_limit` of the current user, or their access level in the target group, also decides.
    CreateProject,
    CreateProjectForOthers,
    TransferProject,
    ManageHooks,
    /// The deploy keys of all projects.
    ListDeployKeys,
    /// Only shared runners and those of projects that the current user manages.
    ReadRunners,
    ManageRunners,
}

impl InstanceAction {
    pub const ALL: [Self; 17] = [
        Self::OperateInstance,
        Self::ReadUsers,
        Self::ManageUsers,
        Self::ManageOwnAccount,
        Self::ListGroups,
        Self::CreateGroup,
        Self::ListProjects,
        Self::ListIssues,
        Self::ListAllProjects,
        Self::ExplorePublic,
        Self::CreateProject,
        Self::CreateProjectForOthers,
        Self::TransferProject,
        Self::ManageHooks,
        Self::ListDeployKeys,
        Self::ReadRunners,
        Self::ManageRunners,
    ];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::OperateInstance => {
                "operate the instance: inspect and maintain repositories, recover pushes, and manage background jobs"
            }
            Self::ReadUsers => "read users",
            Self::ManageUsers => "manage users with their keys and email addresses, and read all their fields",
            Self::ManageOwnAccount => "read and edit the user's own account, keys, email addresses and tokens",
            Self::ListGroups => "list groups and namespaces",
            Self::CreateGroup => "create a group (if the account's `can_create_group` is set)",
            Self::ListProjects => "list the user's own, visible and starred projects",
            Self::ListIssues => "list the user's own issues",
            Self::ListAllProjects => "list all projects",
            Self::ExplorePublic => "list public projects and groups (anonymous: if `web.public_projects` is set)",
            Self::CreateProject => "create a project (within `projects_limit`, or as master of the group)",
            Self::CreateProjectForOthers => "create a project for another user",
            Self::TransferProject => "move a project into a group",
            Self::ManageHooks => "read, create, test and delete system hooks",
            Self::ListDeployKeys => "list the deploy keys of all projects",
            Self::ReadRunners => "read shared runners, and manage the runners of projects that the user manages",
            Self::ManageRunners => "list, edit and delete all runners",
        }
    }

    const fn min_role(self) -> InstanceRole {
        match self {
            Self::ExplorePublic => InstanceRole::Anonymous,
            Self::ReadUsers
            | Self::ManageOwnAccount
            | Self::ListGroups
            | Self::CreateGroup
            | Self::ListProjects
            | Self::ListIssues
            | Self::CreateProject
            | Self::ReadRunners => InstanceRole::External,
            Self::OperateInstance
            | Self::ManageUsers
            | Self::ListAllProjects
            | Self::CreateProjectForOthers
            | Self::TransferProject
            | Self::ManageHooks
            | Self::ListDeployKeys
            | Self::ManageRunners => InstanceRole::Administrator,
        }
    }

    pub fn is_allowed(self, role: InstanceRole) -> bool {
        role >= self.min_role()
    }
}

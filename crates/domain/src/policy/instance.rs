use super::Standing;

/// Actions on the instance itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceAction {
    ReadUsers,
    ManageUsers,
    ManageOwnAccount,
    ListGroups,
    /// Beside this, the caller's own flag `can_create_group` decides.
    CreateGroup,
    ListProjects,
    /// What the caller wrote.
    ListIssues,
    ListAllProjects,
    /// Beside this, the caller's `projects_limit` or its level in the target group decides.
    CreateProject,
    CreateProjectForOthers,
    TransferProject,
    ManageHooks,
    /// Beside this, only those of projects that the caller manages, or everybody's.
    ReadRunners,
    ManageRunners,
}

impl InstanceAction {
    pub const ALL: [Self; 14] = [
        Self::ReadUsers,
        Self::ManageUsers,
        Self::ManageOwnAccount,
        Self::ListGroups,
        Self::CreateGroup,
        Self::ListProjects,
        Self::ListIssues,
        Self::ListAllProjects,
        Self::CreateProject,
        Self::CreateProjectForOthers,
        Self::TransferProject,
        Self::ManageHooks,
        Self::ReadRunners,
        Self::ManageRunners,
    ];

    pub const fn describe(self) -> &'static str {
        match self {
            Self::ReadUsers => "read users",
            Self::ManageUsers => "create, edit, delete, block users; their keys and addresses; full form",
            Self::ManageOwnAccount => "read and edit the own account, keys, addresses, tokens",
            Self::ListGroups => "list groups and namespaces",
            Self::CreateGroup => "create a group (if the account's `can_create_group` is set)",
            Self::ListProjects => "list the own, visible and starred projects",
            Self::ListIssues => "list the issues that one wrote",
            Self::ListAllProjects => "list all projects",
            Self::CreateProject => "create a project (within `projects_limit`, or as master of the group)",
            Self::CreateProjectForOthers => "create a project for another user",
            Self::TransferProject => "move a project into a group",
            Self::ManageHooks => "read, create, try, delete the hooks of the instance",
            Self::ReadRunners => "read shared runners; list, read, edit and delete those of the projects one manages",
            Self::ManageRunners => "list, edit and delete all runners",
        }
    }

    const fn minimum(self) -> Standing {
        match self {
            Self::ReadUsers
            | Self::ManageOwnAccount
            | Self::ListGroups
            | Self::CreateGroup
            | Self::ListProjects
            | Self::ListIssues
            | Self::CreateProject
            | Self::ReadRunners => Standing::External,
            Self::ManageUsers
            | Self::ListAllProjects
            | Self::CreateProjectForOthers
            | Self::TransferProject
            | Self::ManageHooks
            | Self::ManageRunners => Standing::Administrator,
        }
    }

    pub fn allowed(self, standing: Standing) -> bool {
        standing >= self.minimum()
    }
}

/// What is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Push,
    TagPush,
    /// Of a ref that is neither a branch nor a tag: no hook asks for it.
    RefPush,
    Issue,
    Note,
    /// Of what not everybody sees, who sees the project. There is no switch for these, so no hook hears of them.
    ConfidentialIssue,
    ConfidentialNote,
    Build,
    Pipeline,
    ProjectCreate,
    ProjectDestroy,
    ProjectRename,
    ProjectTransfer,
    UserCreate,
    UserDestroy,
    UserAddToTeam,
    UserRemoveFromTeam,
    GroupCreate,
    GroupDestroy,
    UserAddToGroup,
    UserRemoveFromGroup,
    KeyCreate,
    KeyDestroy,
    /// What somebody sends to try a hook.
    Test,
}

impl Kind {
    pub const ALL: [Self; 24] = [
        Self::Push,
        Self::TagPush,
        Self::RefPush,
        Self::Issue,
        Self::Note,
        Self::ConfidentialIssue,
        Self::ConfidentialNote,
        Self::Build,
        Self::Pipeline,
        Self::ProjectCreate,
        Self::ProjectDestroy,
        Self::ProjectRename,
        Self::ProjectTransfer,
        Self::UserCreate,
        Self::UserDestroy,
        Self::UserAddToTeam,
        Self::UserRemoveFromTeam,
        Self::GroupCreate,
        Self::GroupDestroy,
        Self::UserAddToGroup,
        Self::UserRemoveFromGroup,
        Self::KeyCreate,
        Self::KeyDestroy,
        Self::Test,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::TagPush => "tag_push",
            Self::RefPush => "ref_push",
            Self::Issue => "issue",
            Self::Note => "note",
            Self::ConfidentialIssue => "confidential_issue",
            Self::ConfidentialNote => "confidential_note",
            Self::Build => "build",
            Self::Pipeline => "pipeline",
            Self::ProjectCreate => "project_create",
            Self::ProjectDestroy => "project_destroy",
            Self::ProjectRename => "project_rename",
            Self::ProjectTransfer => "project_transfer",
            Self::UserCreate => "user_create",
            Self::UserDestroy => "user_destroy",
            Self::UserAddToTeam => "user_add_to_team",
            Self::UserRemoveFromTeam => "user_remove_from_team",
            Self::GroupCreate => "group_create",
            Self::GroupDestroy => "group_destroy",
            Self::UserAddToGroup => "user_add_to_group",
            Self::UserRemoveFromGroup => "user_remove_from_group",
            Self::KeyCreate => "key_create",
            Self::KeyDestroy => "key_destroy",
            Self::Test => "test",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether every hook of the instance hears of it, whatever its switches say.
    pub const fn is_of_instance(self) -> bool {
        match self {
            Self::Push
            | Self::TagPush
            | Self::RefPush
            | Self::Issue
            | Self::Note
            | Self::ConfidentialIssue
            | Self::ConfidentialNote
            | Self::Build
            | Self::Pipeline
            | Self::Test => false,
            Self::ProjectCreate
            | Self::ProjectDestroy
            | Self::ProjectRename
            | Self::ProjectTransfer
            | Self::UserCreate
            | Self::UserDestroy
            | Self::UserAddToTeam
            | Self::UserRemoveFromTeam
            | Self::GroupCreate
            | Self::GroupDestroy
            | Self::UserAddToGroup
            | Self::UserRemoveFromGroup
            | Self::KeyCreate
            | Self::KeyDestroy => true,
        }
    }

    /// How a project's hook is told what this is.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Push => "Push Hook",
            Self::TagPush => "Tag Push Hook",
            Self::Issue => "Issue Hook",
            Self::Note => "Note Hook",
            Self::Build => "Build Hook",
            Self::Pipeline => "Pipeline Hook",
            _ => SYSTEM_TITLE,
        }
    }
}

/// The same for all that the instance's hooks are told.
pub const SYSTEM_TITLE: &str = "System Hook";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_own_word() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_word(kind.word()), Some(kind));
        }
        assert_eq!(Kind::from_word("merge"), None);
    }
}

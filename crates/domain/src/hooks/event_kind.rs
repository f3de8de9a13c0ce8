//! Kinds of webhook events.

/// The kind of an event that is recorded in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    Push,
    TagPush,
    /// A push to a ref that is neither a branch nor a tag. No subscription flag exists for it.
    RefPush,
    Issue,
    Note,
    MergeRequest,
    /// Events of confidential issues. No subscription flag exists for them, so they are recorded but never delivered.
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
    /// An event that a user sends to test a hook.
    Test,
}

impl EventKind {
    pub const ALL: [Self; 25] = [
        Self::Push,
        Self::TagPush,
        Self::RefPush,
        Self::Issue,
        Self::Note,
        Self::MergeRequest,
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

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::TagPush => "tag_push",
            Self::RefPush => "ref_push",
            Self::Issue => "issue",
            Self::Note => "note",
            Self::MergeRequest => "merge_request",
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

    pub fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns whether every system hook receives events of this kind, regardless of its subscription flags.
    pub const fn is_system_event(self) -> bool {
        match self {
            Self::Push
            | Self::TagPush
            | Self::RefPush
            | Self::Issue
            | Self::Note
            | Self::MergeRequest
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

    /// Returns the value of the event header in deliveries to project hooks.
    pub const fn header_value(self) -> &'static str {
        match self {
            Self::Push => "Push Hook",
            Self::TagPush => "Tag Push Hook",
            Self::Issue => "Issue Hook",
            Self::Note => "Note Hook",
            Self::MergeRequest => "Merge Request Hook",
            Self::Build => "Build Hook",
            Self::Pipeline => "Pipeline Hook",
            _ => SYSTEM_HEADER_VALUE,
        }
    }
}

/// The value of the event header in all deliveries to system hooks.
pub const SYSTEM_HEADER_VALUE: &str = "System Hook";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips_as_text() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_str_opt(kind.as_str()), Some(kind));
        }
        assert_eq!(EventKind::from_str_opt("merge"), None);
    }
}

//! Identifiers. Each kind has its own type, so that the id of a key cannot be passed where the id of a user is
//! expected.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(i64);

        impl $name {
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                Self(id)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    UserId,
    /// The id of a user's or a group's namespace. The id of a group equals the id of its namespace: scripts pass a
    /// group id where a namespace id is expected.
    NamespaceId,
    SshKeyId,
    EmailId,
    TokenId,
    BrowserSessionId,
    ProjectId,
    HookId,
    RepositoryId,
    PackId,
    JobId,
    LabelId,
    /// The id of a project's only board, which equals the id of the project.
    BoardId,
    BoardListId,
    MilestoneId,
    IssueId,
    NoteId,
    AwardId,
    DiscussionId,
    DraftNoteId,
    TodoId,
    MergeRequestId,
    MergeRequestVersionId,
    PipelineId,
    BuildId,
    RunnerId,
    TriggerId,
}

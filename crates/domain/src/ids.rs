//! Identifiers. Each kind is a type of its own, so that a key id can never be passed where a user id is meant.

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
    /// A user's or a group's place in the path space. The id of a group *is* the id of its namespace: scripts pass a
    /// group id where a namespace id is asked for.
    NamespaceId,
    SshKeyId,
    EmailId,
    TokenId,
    ProjectId,
    HookId,
    RepositoryId,
    PackId,
    JobId,
    LabelId,
    /// A project's board; there is one, and its id is the project's.
    BoardId,
    BoardListId,
    MilestoneId,
    IssueId,
    NoteId,
    PipelineId,
    BuildId,
    RunnerId,
    TriggerId,
}

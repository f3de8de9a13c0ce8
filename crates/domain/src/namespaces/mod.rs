//! Namespaces: the paths that users and groups share.

pub mod name;
pub mod path;

pub use name::GroupName;
pub use path::NamespacePath;

/// The kind of a namespace: each belongs to one user or to one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceKind {
    User,
    Group,
}

impl NamespaceKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
        }
    }
}

/// The error for a text that is no kind of namespace.
#[derive(Debug, thiserror::Error)]
#[error("unknown namespace kind {0:?}")]
pub struct UnknownNamespaceKind(String);

impl TryFrom<String> for NamespaceKind {
    type Error = UnknownNamespaceKind;

    fn try_from(word: String) -> Result<Self, UnknownNamespaceKind> {
        [Self::User, Self::Group].into_iter().find(|kind| kind.as_str() == word).ok_or(UnknownNamespaceKind(word))
    }
}

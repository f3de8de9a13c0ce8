//! Whether an account may be used.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserState {
    Active,
    Blocked,
    /// Blocked by directory synchronisation: only the directory lifts it.
    DirectoryBlocked,
}

impl UserState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::DirectoryBlocked => "directory_blocked",
        }
    }

    /// The interface knows two states.
    pub const fn shown(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Blocked | Self::DirectoryBlocked => "blocked",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("unknown user state {0:?}")]
pub struct UnknownUserState(String);

impl TryFrom<String> for UserState {
    type Error = UnknownUserState;

    fn try_from(word: String) -> Result<Self, UnknownUserState> {
        [Self::Active, Self::Blocked, Self::DirectoryBlocked]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or(UnknownUserState(word))
    }
}

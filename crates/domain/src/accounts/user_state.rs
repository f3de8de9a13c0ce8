//! The state of a user account.

/// The state of an account, which decides whether its user can sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserState {
    Active,
    Blocked,
    /// Blocked by directory synchronization. Only the directory can unblock the account.
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

    /// Returns the state as the API shows it. The API has two states only.
    pub const fn api_name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Blocked | Self::DirectoryBlocked => "blocked",
        }
    }
}

/// The error for a text that is no user state.
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

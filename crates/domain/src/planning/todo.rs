//! Reasons for todos.

/// Why a user has a todo. The numbers are stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoAction {
    Assigned = 1,
    Mentioned = 2,
    /// The pipeline of the head of the user's merge request failed.
    BuildFailed = 3,
    /// The user created the todo.
    Marked = 4,
}

impl TodoAction {
    const ALL: [Self; 4] = [Self::Assigned, Self::Mentioned, Self::BuildFailed, Self::Marked];

    pub const fn as_i16(self) -> i16 {
        self as i16
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Mentioned => "mentioned",
            Self::BuildFailed => "build_failed",
            Self::Marked => "marked",
        }
    }

    pub fn from_str_opt(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// The error for a number that is no action of a todo.
#[derive(Debug, thiserror::Error)]
#[error("{0} is no action of a todo")]
pub struct UnknownTodoAction(i16);

impl TryFrom<i16> for TodoAction {
    type Error = UnknownTodoAction;

    fn try_from(code: i16) -> Result<Self, Self::Error> {
        Self::ALL.into_iter().find(|action| action.as_i16() == code).ok_or(UnknownTodoAction(code))
    }
}

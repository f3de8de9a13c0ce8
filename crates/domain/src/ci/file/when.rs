//! The key `when` of a job.

use serde::{Deserialize, Serialize};

/// The condition under which a job runs after the earlier stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    OnSuccess,
    OnFailure,
    Always,
    /// Only when a user starts it.
    Manual,
}

impl When {
    pub const ALL: [Self; 4] = [Self::OnSuccess, Self::OnFailure, Self::Always, Self::Manual];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::Always => "always",
            Self::Manual => "manual",
        }
    }

    pub fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.as_str() == word)
    }
}

/// The error for a text that is not a value of `when`.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a value of `when`")]
pub struct UnknownWhen(String);

impl TryFrom<String> for When {
    type Error = UnknownWhen;

    fn try_from(word: String) -> Result<Self, UnknownWhen> {
        Self::from_str_opt(&word).ok_or(UnknownWhen(word))
    }
}

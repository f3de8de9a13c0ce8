use serde::{Deserialize, Serialize};

/// After what a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    OnSuccess,
    OnFailure,
    Always,
    /// When somebody says so.
    Manual,
}

impl When {
    pub const ALL: [Self; 4] = [Self::OnSuccess, Self::OnFailure, Self::Always, Self::Manual];

    pub const fn word(self) -> &'static str {
        match self {
            Self::OnSuccess => "on_success",
            Self::OnFailure => "on_failure",
            Self::Always => "always",
            Self::Manual => "manual",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.word() == word)
    }
}

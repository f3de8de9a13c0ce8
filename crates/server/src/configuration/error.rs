//! The error for invalid settings.

use std::fmt;

use config::ConfigError;

/// An invalid setting: its key and value, what is wrong with it, and how to fix it.
#[derive(Debug)]
pub struct InvalidSetting {
    key: String,
    value: String,
    problem: String,
    fix: String,
}

const DEFAULT_FIX: &str = "see the descriptions of all settings in `holdfast config default`";

impl InvalidSetting {
    pub fn new(key: &str, value: impl fmt::Display, problem: &str, fix: &str) -> Self {
        Self { key: key.into(), value: value.to_string(), problem: problem.into(), fix: fix.into() }
    }

    /// Converts an error of the crate `config`. The value is looked up in `merged` where the error does not contain it.
    pub fn from_config(error: &ConfigError, merged: Option<&config::Config>) -> Self {
        let (key, value, problem) = match error {
            ConfigError::Type { unexpected, expected, key, .. } => (
                key.clone().unwrap_or_else(|| "(unknown)".into()),
                unexpected.to_string(),
                format!("it is not {expected}"),
            ),
            ConfigError::At { error, key, .. } => {
                let inner = Self::from_config(error, None);
                let key = key.clone().unwrap_or(inner.key);
                let value = merged.and_then(|merged| merged.get_string(&key).ok()).unwrap_or(inner.value);
                (key, value, inner.problem)
            }
            ConfigError::NotFound(key) => (key.clone(), "(nothing)".into(), "it is not set".into()),
            // The first line has the location. The following lines quote the source text, which can contain secrets.
            other => {
                let text = other.to_string();
                let location = text.lines().next().unwrap_or_default().to_owned();
                ("file or variable".into(), "not understood".into(), location)
            }
        };
        Self { key, value, problem, fix: DEFAULT_FIX.into() }
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setting {} is {}: {}\n  fix: {}", self.key, self.value, self.problem, self.fix)
    }
}

impl std::error::Error for InvalidSetting {}

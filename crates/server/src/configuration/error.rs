use std::fmt;

use config::ConfigError;

/// A setting that cannot be used: which, what it is, why not, and what to do.
#[derive(Debug)]
pub struct Invalid {
    key: String,
    value: String,
    problem: String,
    cure: String,
}

const SEE_DEFAULT: &str = "`holdfast config default` shows every key with its meaning";

impl Invalid {
    pub fn new(key: &str, value: impl fmt::Display, problem: &str, cure: &str) -> Self {
        Self { key: key.into(), value: value.to_string(), problem: problem.into(), cure: cure.into() }
    }

    /// `merged` is where the value can be looked up again.
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
            // The first line says where; what follows would repeat the text, secrets included.
            other => {
                let text = other.to_string();
                let place = text.lines().next().unwrap_or_default().to_owned();
                ("file or variable".into(), "not understood".into(), place)
            }
        };
        Self { key, value, problem, cure: SEE_DEFAULT.into() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setting {} is {}: {}\n  cure: {}", self.key, self.value, self.problem, self.cure)
    }
}

impl std::error::Error for Invalid {}

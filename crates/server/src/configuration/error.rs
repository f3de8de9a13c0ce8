//! The error for invalid settings.

use std::fmt;
use std::path::Path;

use config::ConfigError;

/// An invalid setting: its key and value, what is wrong with it, and how to fix it.
#[derive(Debug)]
pub struct InvalidSetting {
    key: String,
    value: String,
    problem: String,
    fix: String,
}

/// What to write for a setting whose key ends with a unit.
const UNITS: [(&str, &str); 4] = [
    ("_seconds", "a number of seconds"),
    ("_days", "a number of days"),
    ("_bytes", "a number of bytes"),
    ("_percent", "a percentage"),
];

const DEFAULT_FIX: &str = "see the descriptions of all settings in `holdfast config default`";

impl InvalidSetting {
    pub fn new(key: &str, value: impl fmt::Display, problem: &str, fix: &str) -> Self {
        Self { key: key.into(), value: value.to_string(), problem: problem.into(), fix: fix.into() }
    }

    /// Creates an error for a number that is less than `smallest` or more than `largest`.
    pub fn out_of_range<T: fmt::Display>(key: &str, value: T, smallest: T, largest: T) -> Self {
        let unit = UNITS.into_iter().find(|(suffix, _)| key.ends_with(suffix));
        let number = unit.map_or("a number", |(_, number)| number);
        let fix = format!("write {number} from {smallest} to {largest}, or remove the setting");
        Self::new(key, value, "it is out of range", &fix)
    }

    /// Creates an error for a configuration file that is not TOML, from the error of the parser.
    pub fn invalid_file(path: &Path, cause: &(dyn std::error::Error + Send + Sync)) -> Self {
        let text = cause.to_string();
        // The first line has the position and the last line the problem. The lines between them quote the file, which
        // can contain secrets.
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let position = first.strip_prefix("TOML parse error at ").unwrap_or(first);
        let problem = lines.last().map_or(String::new(), |problem| format!(": {problem}"));
        let fix = "correct this line: a section is [name], a setting is key = value, a text has quotes, and a list has \
                   brackets";
        Self::new("--config", path.display(), &format!("the file is not valid TOML: {position}{problem}"), fix)
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
            // Only the first line, because the following ones can quote the source text, which can contain secrets.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_errors_show_the_unit_and_the_range() {
        let cases = [
            ("hooks.timeout_seconds", "write a number of seconds from 1 to 60, "),
            ("hooks.retention_days", "write a number of days from 1 to 60, "),
            ("git.max_pack_bytes", "write a number of bytes from 1 to 60, "),
            ("fault_injection.fail_percent", "write a percentage from 1 to 60, "),
            ("worker.concurrency", "write a number from 1 to 60, "),
        ];
        for (key, fix) in cases {
            let text = InvalidSetting::out_of_range(key, 61, 1, 60).to_string();
            assert!(text.starts_with(&format!("setting {key} is 61: ")) && text.contains(fix), "{text}");
        }
    }
}

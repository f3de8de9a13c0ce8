//! The error for invalid settings.

use std::fmt;
use std::path::Path;

use config::ConfigError;

/// An invalid setting: a text with its key, its value and what is wrong with it, and how to fix it.
#[derive(Debug)]
pub struct InvalidSetting {
    text: String,
    fix: String,
}

/// What to write for a setting whose key ends with a unit.
const UNITS: [(&str, &str); 5] = [
    ("_seconds", "a number of seconds"),
    ("_minutes", "a number of minutes"),
    ("_days", "a number of days"),
    ("_bytes", "a number of bytes"),
    ("_percent", "a percentage"),
];

const DEFAULT_FIX: &str = "see the descriptions of all settings in `holdfast config default`";

impl InvalidSetting {
    pub fn new(key: &str, value: impl fmt::Display, problem: &str, fix: &str) -> Self {
        Self { text: format!("setting {key} is {value}: {problem}"), fix: fix.into() }
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
    pub fn from_config(error: &ConfigError, merged: Option<&config::Config>, file: Option<&Path>) -> Self {
        let (section, cause) = match error {
            ConfigError::At { error, key, .. } => (key.clone(), &**error),
            other => (None, other),
        };
        let text = cause.to_string();
        if let Some((key, _)) = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
            let key = section.map_or(key.to_owned(), |section| format!("{section}.{key}"));
            let text = format!("unknown setting {key} in {}", find_origin(&key, file));
            return Self { text, fix: DEFAULT_FIX.into() };
        }
        if let ConfigError::Type { unexpected, expected, key, .. } = cause {
            let key = key.clone().or(section).unwrap_or_else(|| "(unknown)".into());
            // A number is quoted as in: 64-bit unsigned integer `99999`.
            let value = unexpected.to_string();
            let value = value.split('`').nth(1).or(value.strip_prefix("string ")).unwrap_or(&value);
            return Self::new(&key, value, &format!("it must be {}", describe_type(expected)), DEFAULT_FIX);
        }
        match (cause, section) {
            (ConfigError::NotFound(key), _) => Self::new(key, "(nothing)", "it is not set", DEFAULT_FIX),
            (_, Some(key)) => {
                let value = merged.and_then(|merged| merged.get_string(&key).ok());
                let value = value.unwrap_or_else(|| "not understood".into());
                let problem = match text.contains("relative URL without a base") {
                    true if key == "storage.url" => "it must begin with file:// or s3://",
                    true => "it must begin with https:// or http://",
                    false => first_line(&text),
                };
                Self::new(&key, value, problem, DEFAULT_FIX)
            }
            _ => Self::new("file or variable", "not understood", first_line(&text), DEFAULT_FIX),
        }
    }
}

/// Returns the first line of an error. The following ones can quote the source text, which can contain secrets.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Returns where an unknown setting comes from: the name of the environment variable, or the file.
fn find_origin(key: &str, file: Option<&Path>) -> String {
    let variable = format!("HOLDFAST__{}", key.replace('.', "__").to_uppercase());
    let is_in = |name: &str| name.strip_prefix(&variable).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"));
    let mut names = std::env::vars().map(|(name, _)| name);
    match (names.find(|name| is_in(&name.to_uppercase())), file) {
        (None, Some(file)) => file.display().to_string(),
        (found, _) => found.unwrap_or(variable),
    }
}

/// Returns the plain words for a type, as the crate `config` names it.
fn describe_type(expected: &str) -> &str {
    match expected {
        "an unsigned 16 bit integer" => "a number from 0 to 65535",
        "a boolean" => "true or false",
        _ if expected.contains("unsigned") => "a whole number from 0",
        _ if expected.contains("integer") => "a whole number",
        _ => expected,
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.text, self.fix)
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
            ("accounts.confirm_minutes", "write a number of minutes from 1 to 60, "),
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

//! The last part of a project's address.

use deunicode::deunicode;

use crate::violations::{BLANK, at_most};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPath(String);

const FORMAT: &str =
    "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'";

impl ProjectPath {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(BLANK.into());
        }
        at_most(text, 255)?;
        let lower = text.to_ascii_lowercase();
        let is_allowed = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
            && !text.starts_with('-')
            && !lower.ends_with(".git")
            && !lower.ends_with(".atom")
            // Either would be a way up or nowhere in an address.
            && !matches!(text, "." | "..");
        if is_allowed { Ok(Self(text.to_owned())) } else { Err(FORMAT.into()) }
    }

    /// The path of a project that was given only a name.
    pub fn from_name(name: &str) -> String {
        let plain = deunicode(name).to_ascii_lowercase();
        let words = plain.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-')));
        let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        joined.trim_matches('-').to_owned()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_path() {
        let cases = [
            ("My Project", "my-project"),
            ("Straße  1.0!", "strasse-1-0"),
            ("--a_b--", "a_b"),
            ("Ünïcode", "unicode"),
            ("a - b", "a---b"),
            ("!!!", ""),
        ];
        for (name, path) in cases {
            assert_eq!(ProjectPath::from_name(name), path, "{name}");
        }
    }

    /// Path traversal begins with a name such as these.
    #[test]
    fn refuses_what_could_lead_elsewhere() {
        for path in ["..", ".", "../x", "a/b", "-x", "x.git", "x.ATOM", "a b", "ä", "a\0", "a%2f", "a\\b"] {
            assert_eq!(ProjectPath::parse(path), Err(FORMAT.into()), "{path:?}");
        }
        for path in ["a", ".github", "_", "x-1", "a.wiki", "A.b"] {
            assert!(ProjectPath::parse(path).is_ok(), "{path}");
        }
    }
}

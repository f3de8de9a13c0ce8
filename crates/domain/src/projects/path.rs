//! Paths of projects: the last segment of a project's URL.

use deunicode::deunicode;

use crate::violations::{BLANK, check_max_length};

/// A valid path of a project, which is the last segment of its URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPath(String);

const FORMAT: &str =
    "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'";

impl ProjectPath {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(BLANK.into());
        }
        check_max_length(text, 255)?;
        let lower = text.to_ascii_lowercase();
        let is_allowed = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
            && !text.starts_with('-')
            && !lower.ends_with(".git")
            && !lower.ends_with(".atom")
            // These would be relative segments in a URL.
            && !matches!(text, "." | "..");
        if is_allowed { Ok(Self(text.to_owned())) } else { Err(FORMAT.into()) }
    }

    /// Derives a path from the name of a project, for projects that are created without a path.
    pub fn from_name(name: &str) -> String {
        let ascii = deunicode(name).to_ascii_lowercase();
        let words = ascii.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-')));
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
    fn paths_are_derived_from_names() {
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

    /// An attacker creates a project with such a path for path traversal.
    #[test]
    fn path_traversal_is_rejected() {
        for path in ["..", ".", "../x", "a/b", "-x", "x.git", "x.ATOM", "a b", "ä", "a\0", "a%2f", "a\\b"] {
            assert_eq!(ProjectPath::parse(path), Err(FORMAT.into()), "{path:?}");
        }
        for path in ["a", ".github", "_", "x-1", "a.wiki", "A.b"] {
            assert!(ProjectPath::parse(path).is_ok(), "{path}");
        }
    }
}

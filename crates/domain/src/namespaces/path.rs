//! Usernames and group paths: one rule and one space for both, because both stand first in a project's path.

use crate::violations::{BLANK, at_most};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePath(String);

const FORMAT: &str =
    "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.";

/// First segments that pages or the interface itself need.
const RESERVED: [&str; 37] = [
    ".well-known",
    "admin",
    "all",
    "api",
    "assets",
    "ci",
    "dashboard",
    "files",
    "gitlab-ci-token",
    "groups",
    "healthz",
    "help",
    "hooks",
    "issues",
    "merge_requests",
    "metrics",
    "new",
    "notes",
    "oauth",
    "profile",
    "projects",
    "public",
    "readyz",
    "repository",
    "robots.txt",
    "s",
    "search",
    "services",
    "sign_in",
    "snippets",
    "static",
    "teams",
    "u",
    "unsubscribes",
    "uploads",
    "users",
    "v2",
];

impl NamespacePath {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(BLANK.into());
        }
        at_most(text, 255)?;
        if !has_allowed_form(text) {
            return Err(FORMAT.into());
        }
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(text)) {
            return Err(format!("{text} is a reserved name"));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn has_allowed_form(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lower = text.to_ascii_lowercase();
    text.chars().all(|c| word(c) || matches!(c, '.' | '-'))
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !lower.ends_with(".git")
        && !lower.ends_with(".atom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_ordinary_names() {
        for path in ["a", "_", "ada", "Ada.Lovelace", "x-1", "a-", ".hidden", "9"] {
            assert!(NamespacePath::parse(path).is_ok(), "{path}");
        }
    }

    /// Path traversal begins with a name such as these (Gogs CVE-2026-52813: an organisation called `../`).
    #[test]
    fn refuses_what_could_be_a_path() {
        for path in ["..", ".", "../x", "a/b", "-x", "x.", "x.git", "x.ATOM", "a b", "ä", "a\0", "a%2f", "a\\b"] {
            assert_eq!(NamespacePath::parse(path), Err(FORMAT.into()), "{path:?}");
        }
        assert_eq!(NamespacePath::parse("Api"), Err("Api is a reserved name".into()));
    }
}

//! Usernames and group paths. They follow the same rules and share one namespace, because both begin the path of a
//! project.

use crate::violations::{BLANK, check_max_length};

/// A valid path of a namespace, which is the first segment of its URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePath(String);

const FORMAT: &str =
    "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.";

/// Names that are the first path segment of pages or of the API.
const RESERVED: [&str; 41] = [
    ".well-known",
    "admin",
    "all",
    "api",
    "assets",
    "ci",
    "dashboard",
    "favicon.ico",
    "files",
    "gitlab-ci-token",
    "groups",
    "healthz",
    "help",
    "hooks",
    "issues",
    "manifest.webmanifest",
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
    "setup",
    "sign_in",
    "sign_out",
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
        check_max_length(text, 255)?;
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
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lower = text.to_ascii_lowercase();
    text.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !lower.ends_with(".git")
        && !lower.ends_with(".atom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_are_accepted() {
        for path in ["a", "_", "ada", "Ada.Lovelace", "x-1", "a-", ".hidden", "9"] {
            assert!(NamespacePath::parse(path).is_ok(), "{path}");
        }
    }

    /// An attacker creates a namespace with such a name for path traversal (Gogs CVE-2026-52813: an organization
    /// `../`).
    #[test]
    fn path_traversal_is_rejected() {
        for path in ["..", ".", "../x", "a/b", "-x", "x.", "x.git", "x.ATOM", "a b", "ä", "a\0", "a%2f", "a\\b"] {
            assert_eq!(NamespacePath::parse(path), Err(FORMAT.into()), "{path:?}");
        }
        assert_eq!(NamespacePath::parse("Api"), Err("Api is a reserved name".into()));
    }
}

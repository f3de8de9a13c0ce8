//! Paths of files in a repository, which become arguments of git.

use gix::validate::path::component;
use gix::validate::path::component::Options;

/// The path of a file or a directory below the root of a repository.
///
/// Git reads it literally: [`Command::arg_tree_path`](crate::process::Command::arg_tree_path) passes it after `--` and
/// switches off the special characters of path arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePath(String);

/// Maximum size of a path, which is that of the operating system.
const MAX_PATH_BYTES: usize = 4096;

impl TreePath {
    /// Returns the path, or None if no tree can have an entry with this path.
    pub fn new(path: &str) -> Option<Self> {
        let is_name = |name: &str| !matches!(name, "" | "." | "..");
        let is_valid = path.len() <= MAX_PATH_BYTES && !path.contains('\0') && path.split('/').all(is_name);
        is_valid.then(|| Self(path.to_owned()))
    }

    /// Returns the path, or None if git would not check out a new file with this path on every system.
    pub fn for_new_file(path: &str) -> Option<Self> {
        let options = Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
        let is_safe = |name: &str| component(name.into(), None, options).is_ok();
        Self::new(path).filter(|path| path.0.split('/').all(is_safe))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_no_part_of_the_administration_of_git() {
        for path in ["a", ".gitignore", ".github/x", "git/config", "a b/ü.txt", "aux"] {
            assert!(TreePath::for_new_file(path).is_some(), "{path}");
        }
        for path in [".git", ".git/config", "a/.GIT/x", "git~1/x", ".g\u{200c}it/config", "../a", "a/./b", ""] {
            assert_eq!(TreePath::for_new_file(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_has_no_empty_or_relative_names() {
        for path in ["a", "src/main.rs", "-x", ":(glob)*", "a b/..c", "ü"] {
            assert_eq!(TreePath::new(path).map(|path| path.0).as_deref(), Some(path));
        }
        for path in ["", "/a", "a/", "a//b", ".", "a/../b", "a\0b", &"a".repeat(MAX_PATH_BYTES + 1)] {
            assert_eq!(TreePath::new(path), None, "{path}");
        }
    }
}

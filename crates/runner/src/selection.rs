//! Selects the files of the project directory that belong in an archive.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use glob::{MatchOptions, Pattern};

/// `*` does not match path separators; `**` does.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

#[derive(Debug, Default)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Parses patterns. Their paths are relative to `root`, or absolute and below it.
    pub fn new(root: &Path, texts: &[String]) -> anyhow::Result<Patterns> {
        texts.iter().map(|text| parse_pattern(root, text)).collect::<anyhow::Result<_>>().map(Patterns)
    }

    /// Returns whether a pattern matches the path or one of its parent directories.
    fn matches(&self, path: &Path) -> bool {
        let mut part_of = path.ancestors();
        part_of.any(|path| self.0.iter().any(|pattern| pattern.matches_path_with(path, OPTIONS)))
    }
}

fn parse_pattern(root: &Path, text: &str) -> anyhow::Result<Pattern> {
    let path = Path::new(text);
    let path = if path.is_absolute() {
        path.strip_prefix(root).ok().with_context(|| format!("{text:?} is not in the project directory"))?
    } else {
        path
    };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            _ => bail!("{text:?} is outside of the project directory"),
        }
    }
    let plain = plain.to_str().with_context(|| format!("{text:?} is not valid UTF-8"))?;
    Pattern::new(plain).with_context(|| format!("{text:?} is not a valid pattern"))
}

#[derive(Debug, Default)]
pub struct Selection {
    /// Relative paths of files and symbolic links, sorted.
    pub paths: Vec<PathBuf>,
    /// Symbolic links that point out of the tree, special files, and names that are not valid UTF-8.
    pub skipped: Vec<PathBuf>,
}

/// Selects the files that match `include` or are listed in `extra_paths`, and do not match `exclude`. Symbolic links
/// are not followed, and `.git` is skipped.
pub fn select(
    root: &Path,
    include: &Patterns,
    exclude: &Patterns,
    extra_paths: &BTreeSet<PathBuf>,
) -> anyhow::Result<Selection> {
    let mut selection = Selection::default();
    let is_wanted = |path: &Path| (include.matches(path) || extra_paths.contains(path)) && !exclude.matches(path);
    walk(root, Path::new(""), &is_wanted, &mut selection)?;
    selection.paths.sort();
    Ok(selection)
}

fn walk(root: &Path, relative: &Path, is_wanted: &impl Fn(&Path) -> bool, found: &mut Selection) -> anyhow::Result<()> {
    let directory = root.join(relative);
    let entries = directory.read_dir().with_context(|| format!("{} cannot be read", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = relative.join(entry.file_name());
        let kind = entry.file_type()?;
        if path == Path::new(".git") {
            continue;
        }
        if kind.is_dir() {
            walk(root, &path, is_wanted, found)?;
        } else if is_wanted(&path) {
            let is_fine = path.to_str().is_some()
                && (kind.is_file() || kind.is_symlink() && stays_inside(&path, &fs::read_link(entry.path())?));
            let list = if is_fine { &mut found.paths } else { &mut found.skipped };
            list.push(path);
        }
    }
    Ok(())
}

/// Returns whether the target of a symbolic link at `path` is inside the tree. `..` is accepted only at the beginning
/// of the target: a named component may itself be a link, so the parent of the resolved path is unknown.
pub fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    let mut is_going_up = true;
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if is_going_up && depth > 0 => depth -= 1,
            Component::Normal(_) => is_going_up = false,
            _ => return false,
        }
    }
    !target.as_os_str().is_empty()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn patterns(texts: &[&str]) -> anyhow::Result<Patterns> {
        Patterns::new(Path::new("/b/p"), &texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_match_files_and_directories() {
        for (pattern, path, expected) in [
            ("out", "out/a/b", true),
            ("out/", "out/a", true),
            ("./out", "out", true),
            ("*.log", "a.log", true),
            ("*.log", "a/b.log", false),
            ("**/*.log", "a/b.log", true),
            ("**/*.log", "b.log", true),
            ("out/*", "out/a/b", true),
            (".", "anything", true),
            ("/b/p/out", "out/x", true),
            ("out", "output", false),
        ] {
            assert_eq!(patterns(&[pattern]).unwrap().matches(Path::new(path)), expected, "{pattern} {path}");
        }
        for bad in ["../x", "a/../../x", "/etc/passwd", "/b/p/../q"] {
            assert!(patterns(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn links_out_of_the_tree_are_detected() {
        for (path, target, expected) in [
            ("a/link", "../b", true),
            ("a/link", "b/c", true),
            ("a/link", "../../b", false),
            ("link", "/etc/passwd", false),
            ("a/b/link", "x/../../../y", false),
            ("link", "", false),
        ] {
            assert_eq!(stays_inside(Path::new(path), Path::new(target)), expected, "{path} -> {target}");
        }
    }

    #[test]
    fn a_tree_is_walked_without_following_links() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for directory in ["out/deep", ".git/objects"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["out/a", "out/deep/b", "out/deep/c.tmp", "new", "other", ".git/config"] {
            fs::write(root.join(file), file).unwrap();
        }
        symlink("a", root.join("out/inside")).unwrap();
        symlink("/etc", root.join("out/etc")).unwrap();
        let include = Patterns::new(root, &["out".into(), ".git".into()]).unwrap();
        let exclude = Patterns::new(root, &["**/*.tmp".into()]).unwrap();
        let found = select(root, &include, &exclude, &["new".into()].into()).unwrap();
        assert_eq!(found.paths, ["new", "out/a", "out/deep/b", "out/inside"].map(PathBuf::from));
        assert_eq!(found.skipped, [PathBuf::from("out/etc")]);
    }
}

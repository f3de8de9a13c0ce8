//! Caches: what one build leaves for the next of its project, on this machine.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest, Sha256};

use crate::archive::{self, Unpacked};
use crate::directory;

const LONGEST_NAME: usize = 80;

pub fn file(root: &Path, project_id: u64, key: &str) -> PathBuf {
    root.join("caches").join(project_id.to_string()).join(format!("{}.zip", sanitise(key)))
}

/// One name of a file per key. What had to be changed is told apart by a digest of what it was.
fn sanitise(key: &str) -> String {
    let key = if key.trim().is_empty() { "default" } else { key };
    let plain: String = key
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.') { it } else { '_' })
        .take(LONGEST_NAME)
        .collect();
    if plain == key && !key.starts_with('.') {
        return plain;
    }
    let digest = hex::encode(Sha256::digest(key));
    format!("{}~{}", plain.trim_start_matches('.'), &digest[..12])
}

/// None if nothing was kept yet.
pub fn pull(file: &Path, root: &Path) -> anyhow::Result<Option<Unpacked>> {
    match File::open(file) {
        Ok(opened) => archive::unpack(opened, root).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("the cache cannot be opened"),
    }
}

/// A build that reads meanwhile sees the old one or the new one, whole.
pub fn push(file: &Path, root: &Path, paths: &[PathBuf]) -> anyhow::Result<()> {
    let directory = file.parent().context("a cache has a directory")?;
    directory::make(directory)?;
    let new = tempfile::NamedTempFile::new_in(directory)?;
    archive::pack(root, paths, new.reopen()?)?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_of_files_and_stay_apart() {
        assert_eq!(sanitise("main-1.2_x"), "main-1.2_x");
        assert_eq!(sanitise(""), "default");
        let odd =
            ["..", ".", "a/b", "a_b", "a:b", "../../etc/passwd", "ä", &"x".repeat(300), &"x".repeat(301), ".x", "x"];
        let names: Vec<String> = odd.iter().map(|key| sanitise(key)).collect();
        for name in &names {
            assert!(!name.contains('/') && !name.starts_with('.') && name.len() < 100, "{name}");
        }
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), odd.len(), "{names:?}");
        assert!(file(Path::new("/r"), 7, "../x").starts_with("/r/caches/7"));
    }

    #[test]
    fn what_was_pushed_is_pulled() {
        let (root, tree, other) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = file(root.path(), 1, "k");
        assert_eq!(pull(&file, other.path()).unwrap(), None);
        std::fs::write(tree.path().join("a"), "1").unwrap();
        push(&file, tree.path(), &["a".into()]).unwrap();
        assert_eq!(pull(&file, other.path()).unwrap().unwrap().files, 1);
        assert_eq!(std::fs::read_to_string(other.path().join("a")).unwrap(), "1");
    }
}

//! Build caches: zip archives on this machine, one per project and cache key.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest, Sha256};

use crate::archive::{self, UnpackSummary};
use crate::directory;

const MAX_NAME_CHARS: usize = 80;

pub fn archive_path(root: &Path, project_id: u64, key: &str) -> PathBuf {
    root.join("caches").join(project_id.to_string()).join(format!("{}.zip", sanitize_key(key)))
}

/// Returns a file name for a cache key. Distinct keys get distinct names: a key that is not a valid file name as it is
/// gets a suffix with a part of its digest.
fn sanitize_key(key: &str) -> String {
    let key = if key.trim().is_empty() { "default" } else { key };
    let plain: String = key
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.') { it } else { '_' })
        .take(MAX_NAME_CHARS)
        .collect();
    if plain == key && !key.starts_with('.') {
        return plain;
    }
    let digest = hex::encode(Sha256::digest(key));
    format!("{}~{}", plain.trim_start_matches('.'), &digest[..12])
}

/// Unpacks a cache into `root`. Returns `None` if the cache does not exist yet.
pub fn pull(file: &Path, root: &Path) -> anyhow::Result<Option<UnpackSummary>> {
    match File::open(file) {
        Ok(handle) => archive::unpack(handle, root).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("the cache cannot be opened"),
    }
}

/// Saves files as a cache. The archive is replaced atomically, so a concurrent [`pull`] reads either the old or the new
/// one completely.
pub fn push(file: &Path, root: &Path, paths: &[PathBuf]) -> anyhow::Result<()> {
    let directory = file.parent().context("the cache file has no parent directory")?;
    directory::create(directory)?;
    let new = tempfile::NamedTempFile::new_in(directory)?;
    archive::pack(root, paths, new.reopen()?)?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_keys_map_to_distinct_file_names() {
        assert_eq!(sanitize_key("main-1.2_x"), "main-1.2_x");
        assert_eq!(sanitize_key(""), "default");
        let odd =
            ["..", ".", "a/b", "a_b", "a:b", "../../etc/passwd", "ä", &"x".repeat(300), &"x".repeat(301), ".x", "x"];
        let names: Vec<String> = odd.iter().map(|key| sanitize_key(key)).collect();
        for name in &names {
            assert!(!name.contains('/') && !name.starts_with('.') && name.len() < 100, "{name}");
        }
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), odd.len(), "{names:?}");
        assert!(archive_path(Path::new("/r"), 7, "../x").starts_with("/r/caches/7"));
    }

    #[test]
    fn pushed_caches_are_pulled() {
        let (root, tree, other) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = archive_path(root.path(), 1, "k");
        assert_eq!(pull(&file, other.path()).unwrap(), None);
        std::fs::write(tree.path().join("a"), "1").unwrap();
        push(&file, tree.path(), &["a".into()]).unwrap();
        assert_eq!(pull(&file, other.path()).unwrap().unwrap().files, 1);
        assert_eq!(std::fs::read_to_string(other.path().join("a")).unwrap(), "1");
    }
}

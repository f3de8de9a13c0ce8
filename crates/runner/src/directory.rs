//! Directories of builds: `builds/<runner>/<slot>/<project>` for the checkout, which is kept between builds, and
//! `tmp/<runner>/<slot>` and `tmp/<runner>/<slot>-scripts` for temporary files.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail};

/// The slot numbers of concurrent builds. A build gets the lowest free number.
#[derive(Clone, Debug, Default)]
pub struct Slots(Arc<Mutex<Vec<bool>>>);

/// A slot number in use. Dropping it releases the number.
#[derive(Debug)]
pub struct Slot {
    slots: Slots,
    pub number: usize,
}

impl Slots {
    pub fn acquire(&self) -> Slot {
        let mut taken = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let number = taken.iter().position(|is_taken| !is_taken).unwrap_or(taken.len());
        if number == taken.len() {
            taken.push(true);
        }
        taken[number] = true;
        Slot { slots: self.clone(), number }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[self.number] = false;
    }
}

/// The directories of one build.
#[derive(Clone, Debug)]
pub struct Directories {
    /// The checkout.
    pub project: PathBuf,
    pub builds: PathBuf,
    /// Home directory, `TMPDIR` and file variables of the build; deleted after it.
    pub temporary: PathBuf,
    /// Text of the scripts, which the build may read but not write; deleted after the build.
    pub scripts: PathBuf,
}

impl Directories {
    /// Creates the directories of a build. Deletes temporary files of an earlier build and keeps its checkout.
    pub fn create(root: &Path, runner: &str, slot: usize, project: &str) -> anyhow::Result<Directories> {
        let root = root.canonicalize().with_context(|| format!("{} does not exist", root.display()))?;
        let builds = root.join("builds").join(runner).join(slot.to_string());
        let temporary = root.join("tmp").join(runner).join(slot.to_string());
        let scripts = root.join("tmp").join(runner).join(format!("{slot}-scripts"));
        let directories = Directories { project: builds.join(relative_path(project)?), builds, temporary, scripts };
        remove(&directories.temporary)?;
        remove(&directories.scripts)?;
        create(&directories.scripts)?;
        for path in ["home", "tmp", "variables"].map(|name| directories.temporary.join(name)) {
            create(&path)?;
        }
        create(&directories.project)?;
        // The path of this project may be inside the checkout of another project, which can contain symbolic links.
        if directories.project.canonicalize()? != directories.project {
            bail!("{} contains a symbolic link; remove it", directories.project.display());
        }
        Ok(directories)
    }
}

/// Creates a directory and its missing parents with mode 0700.
pub fn create(path: &Path) -> anyhow::Result<()> {
    let result = DirBuilder::new().recursive(true).mode(0o700).create(path);
    result.with_context(|| format!("the directory {} cannot be created", path.display()))
}

/// Converts the path of a repository URL to a relative directory path without `.git`.
fn relative_path(project: &str) -> anyhow::Result<PathBuf> {
    let path = project.trim_matches('/');
    let path = Path::new(path.strip_suffix(".git").unwrap_or(path));
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || path.as_os_str().is_empty() {
        bail!("the project path {project:?} is not a valid directory name");
    }
    Ok(path.to_owned())
}

/// Removes a directory with its contents, including read-only directories. Succeeds if it does not exist.
pub fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_removable(path);
            fs::remove_dir_all(path)
        }
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("the directory {} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}

/// Makes all directories below a path writable. Symbolic links are not followed.
fn make_removable(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()) {
        return;
    }
    fs::set_permissions(path, Permissions::from_mode(0o700)).ok();
    for entry in path.read_dir().into_iter().flatten().flatten() {
        make_removable(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_reused() {
        let slots = Slots::default();
        let (first, second) = (slots.acquire(), slots.acquire());
        assert_eq!((first.number, second.number), (0, 1));
        drop(first);
        assert_eq!(slots.acquire().number, 0);
    }

    #[test]
    fn project_paths_stay_below_the_root() {
        assert_eq!(relative_path("/group/project.git").unwrap(), Path::new("group/project"));
        for bad in ["", "/", "../x", "a/../../b", ".git"] {
            assert!(relative_path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn build_directories_do_not_follow_symlinks() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let first = Directories::create(root.path(), "r", 0, "a/b").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), first.project.join("c")).unwrap();
        assert!(Directories::create(root.path(), "r", 0, "a/b/c").is_err());
    }

    #[test]
    fn read_only_directories_can_be_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        create(&path.join("y/z")).unwrap();
        fs::set_permissions(path.join("y"), Permissions::from_mode(0o500)).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
        remove(&path).unwrap();
    }
}

//! Where builds work: `builds/<runner>/<slot>/<project>` for the tree, `tmp/<runner>/<slot>` for the rest.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail};

/// The numbers of builds that run at the same time. A build has the lowest that is free.
#[derive(Clone, Debug, Default)]
pub struct Slots(Arc<Mutex<Vec<bool>>>);

/// Free again when dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Slots,
    pub number: usize,
}

impl Slots {
    pub fn take(&self) -> Slot {
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

#[derive(Clone, Debug)]
pub struct Directories {
    /// The checked out tree.
    pub project: PathBuf,
    pub builds: PathBuf,
    /// Gone after the build.
    pub temporary: PathBuf,
    /// Gone as well; the build may read what is in it.
    pub scripts: PathBuf,
}

impl Directories {
    /// Makes them; what an earlier build left in `temporary` is gone, what it left in `project` is not.
    pub fn make(root: &Path, runner: &str, slot: usize, project: &str) -> anyhow::Result<Directories> {
        let root = root.canonicalize().with_context(|| format!("{} is not there", root.display()))?;
        let builds = root.join("builds").join(runner).join(slot.to_string());
        let temporary = root.join("tmp").join(runner).join(slot.to_string());
        let scripts = root.join("tmp").join(runner).join(format!("{slot}-scripts"));
        let directories = Directories { project: builds.join(relative(project)?), builds, temporary, scripts };
        clear(&directories.temporary)?;
        clear(&directories.scripts)?;
        make(&directories.scripts)?;
        for path in ["home", "tmp", "variables"].map(|name| directories.temporary.join(name)) {
            make(&path)?;
        }
        make(&directories.project)?;
        // A project that stood in the way may have left links; nothing is built where they lead.
        if directories.project.canonicalize()? != directories.project {
            bail!("{} leads elsewhere; remove it", directories.project.display());
        }
        Ok(directories)
    }
}

/// For the owner alone, with what is above.
pub fn make(path: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("the directory {} cannot be made", path.display()))
}

/// A path of a project as a path of a directory.
fn relative(project: &str) -> anyhow::Result<PathBuf> {
    let path = project.trim_matches('/');
    let path = Path::new(path.strip_suffix(".git").unwrap_or(path));
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || path.as_os_str().is_empty() {
        bail!("the path of the project is {project:?}, which is no place for a directory");
    }
    Ok(path.to_owned())
}

/// Removes a directory with everything in it, also what nobody may write.
pub fn clear(path: &Path) -> anyhow::Result<()> {
    let removed = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path);
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

/// Links are not followed.
fn open_up(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()) {
        return;
    }
    fs::set_permissions(path, Permissions::from_mode(0o700)).ok();
    for entry in path.read_dir().into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let slots = Slots::default();
        let (first, second) = (slots.take(), slots.take());
        assert_eq!((first.number, second.number), (0, 1));
        drop(first);
        assert_eq!(slots.take().number, 0);
    }

    #[test]
    fn projects_stay_below() {
        assert_eq!(relative("/group/project.git").unwrap(), Path::new("group/project"));
        for bad in ["", "/", "../x", "a/../../b", ".git"] {
            assert!(relative(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_planted_link_is_no_place_to_build() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let first = Directories::make(root.path(), "r", 0, "a/b").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), first.project.join("c")).unwrap();
        assert!(Directories::make(root.path(), "r", 0, "a/b/c").is_err());
    }

    #[test]
    fn what_is_locked_can_be_cleared() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        make(&path.join("y/z")).unwrap();
        fs::set_permissions(path.join("y"), Permissions::from_mode(0o500)).unwrap();
        clear(&path).unwrap();
        assert!(!path.exists());
        clear(&path).unwrap();
    }
}

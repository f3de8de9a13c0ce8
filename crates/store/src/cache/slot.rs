//! Slots: subdirectories of the cache directory, each used by one process at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holdfast_domain::ids::RepositoryId;
use holdfast_git::add_path;
use holdfast_git::pack_file::PackFile;
use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::pack_file_stem;
use crate::repository::pack::Pack;

pub struct Slot {
    directory: PathBuf,
    /// The lock file. The kernel releases the lock when the process ends, also after a crash.
    _lock: File,
}

/// Maximum number of processes on one machine that share a cache directory, such as a server, a worker, and their
/// successors during a restart. Arbitrary.
const MAX_SLOTS: usize = 64;

/// The directories in a slot.
const SUBDIRECTORIES: [&str; 3] = ["packs", "repositories", "incoming"];

impl Slot {
    /// Acquires the first free slot. Deletes its contents if the machine was rebooted since the last use, because files
    /// may be incomplete after a crash of the machine.
    pub fn acquire(parent: &Path) -> io::Result<Self> {
        ensure_own(parent)?;
        std::fs::create_dir_all(parent).map_err(add_path(parent))?;
        for number in 0..MAX_SLOTS {
            let directory = parent.join(number.to_string());
            std::fs::create_dir_all(&directory).map_err(add_path(&directory))?;
            // The lock file is outside of the directory, which operators may delete.
            let lock = parent.join(format!("{number}.lock"));
            let options = File::options().create(true).truncate(false).write(true).open(&lock);
            let lock = options.map_err(add_path(&lock))?;
            match lock.try_lock() {
                Ok(()) => {
                    let directory = directory.canonicalize().map_err(add_path(&directory))?;
                    let slot = Self { directory, _lock: lock };
                    slot.prepare()?;
                    return Ok(slot);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("too many processes use this cache directory"))
    }

    fn prepare(&self) -> io::Result<()> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let marker = self.directory.join("boot_id");
        if std::fs::read_to_string(&marker).ok().as_ref() != Some(&boot) {
            remove_dir_if_present(&self.packs_dir())?;
            remove_dir_if_present(&self.directory.join("repositories"))?;
        }
        remove_dir_if_present(&self.incoming_dir())?;
        for directory in SUBDIRECTORIES.map(|name| self.directory.join(name)) {
            std::fs::create_dir_all(&directory).map_err(add_path(&directory))?;
        }
        std::fs::write(&marker, boot).map_err(add_path(&marker))
    }

    pub fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    pub fn packs_dir(&self) -> PathBuf {
        self.directory.join("packs")
    }

    pub fn incoming_dir(&self) -> PathBuf {
        self.directory.join("incoming")
    }

    pub fn pack_path(&self, pack: &Pack, file: PackFile) -> PathBuf {
        self.packs_dir().join(format!("{}.{}", pack_file_stem(pack), file.extension()))
    }

    pub fn repository_path(&self, id: RepositoryId) -> PathBuf {
        self.directory.join("repositories").join(format!("{id}.git"))
    }

    /// Lists the cached repositories, the least recently used first.
    pub fn repositories(&self) -> io::Result<Vec<RepositoryId>> {
        let mut found = Vec::new();
        let repositories = self.directory.join("repositories");
        for file in std::fs::read_dir(&repositories).map_err(add_path(&repositories))? {
            let file = file?;
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".git")?.parse::<i64>().ok());
            let used = std::fs::metadata(file.path().join("HEAD")).and_then(|metadata| metadata.modified()).ok();
            found.extend(id.map(|id| (used, RepositoryId::from(id))));
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    pub fn bytes(&self) -> io::Result<u64> {
        bytes(&self.packs_dir())
    }
}

fn bytes(packs: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for file in std::fs::read_dir(packs).map_err(add_path(packs))? {
        sum += file?.metadata()?.len();
    }
    Ok(sum)
}

/// Returns the bytes of the packs in all slots of a cache directory.
pub fn total_bytes(parent: &Path) -> io::Result<u64> {
    let slots = (0..MAX_SLOTS).map(|number| parent.join(number.to_string()).join("packs"));
    slots.filter(|packs| packs.is_dir()).map(|packs| bytes(&packs)).sum()
}

fn remove_dir_if_present(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(add_path(directory)(error)),
        _ => Ok(()),
    }
}

/// Returns the owner of a directory, or of the directory that it would be created in, if this process runs as root and the
/// owner is another user. That user's processes could not use files that root creates there.
pub fn find_other_owner(directory: &Path) -> Option<u32> {
    let owner = directory.ancestors().find_map(|path| std::fs::metadata(path).ok())?.uid();
    Some(owner).filter(|owner| geteuid().is_root() && *owner != 0)
}

/// Fails if this process runs as root and the cache directory belongs to another user.
pub fn ensure_own(directory: &Path) -> io::Result<()> {
    match find_other_owner(directory) {
        None => Ok(()),
        Some(owner) => Err(io::Error::other(format!(
            "{} belongs to user {owner}: run this as that user, for example `runuser -u holdfast -- holdfast …`",
            directory.display()
        ))),
    }
}

/// Returns a directory in the slots of a cache directory that this process cannot write to.
pub fn find_unwritable(parent: &Path) -> Option<PathBuf> {
    let slots = (0..MAX_SLOTS).map(|number| parent.join(number.to_string()));
    let mut directories = slots.flat_map(|slot| SUBDIRECTORIES.map(|name| slot.join(name)));
    directories.find(|path| path.exists() && access(path, Access::WRITE_OK | Access::EXEC_OK).is_err())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    /// A command that root ran left files in the cache that the server could not use, and pushes failed.
    #[test]
    fn root_does_not_use_the_cache_of_another_user() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Slot::acquire(directory.path()).is_ok());
        if geteuid().is_root() {
            chown(directory.path(), Some(12345), None).unwrap();
            let error = Slot::acquire(&directory.path().join("cache")).err().unwrap().to_string();
            assert!(error.contains("belongs to user 12345") && error.contains("runuser"), "{error}");
        }
    }

    #[test]
    fn errors_of_the_cache_name_the_path() {
        let error = Slot::acquire(Path::new("/proc/none/cache")).err().unwrap();
        assert!(error.to_string().starts_with("/proc/none/cache: "), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn directories_that_cannot_be_written_are_found() {
        let directory = tempfile::tempdir().unwrap();
        drop(Slot::acquire(directory.path()).unwrap());
        assert_eq!(find_unwritable(directory.path()), None);
        // Root can write to every directory.
        if !geteuid().is_root() {
            let incoming = directory.path().join("0/incoming");
            std::fs::set_permissions(&incoming, std::fs::Permissions::from_mode(0o500)).unwrap();
            assert_eq!(find_unwritable(directory.path()), Some(incoming));
        }
    }
}

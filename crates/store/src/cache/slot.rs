//! Slots: subdirectories of the cache directory, each used by one process at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use holdfast_domain::ids::RepositoryId;
use holdfast_git::pack_file::PackFile;

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

impl Slot {
    /// Acquires the first free slot. Deletes its contents if the machine was rebooted since the last use, because files
    /// may be incomplete after a crash of the machine.
    pub fn acquire(parent: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(parent)?;
        for number in 0..MAX_SLOTS {
            let directory = parent.join(number.to_string());
            std::fs::create_dir_all(&directory)?;
            // The lock file is outside of the directory, which operators may delete.
            let lock = parent.join(format!("{number}.lock"));
            let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
            match lock.try_lock() {
                Ok(()) => {
                    let slot = Self { directory: directory.canonicalize()?, _lock: lock };
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
        for directory in [self.packs_dir(), self.directory.join("repositories"), self.incoming_dir()] {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(marker, boot)
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
        for file in std::fs::read_dir(self.directory.join("repositories"))? {
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
    for file in std::fs::read_dir(packs)? {
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
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

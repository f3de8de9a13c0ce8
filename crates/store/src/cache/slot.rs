//! A directory that one process has for itself.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use holdfast_domain::ids::RepositoryId;

use super::stem;
use crate::repository::pack::Pack;

pub struct Slot {
    directory: PathBuf,
    /// Locked while the process lives, however it ends.
    _lock: File,
}

/// Processes of one machine that share a configuration: a server, a worker, and their successors.
const MOST: usize = 64;

impl Slot {
    /// The first that is free. What a crash of the whole machine may have torn is thrown away.
    pub fn take(parent: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(parent)?;
        for number in 0..MOST {
            let directory = parent.join(number.to_string());
            std::fs::create_dir_all(&directory)?;
            // Beside the directory, which anybody may delete.
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
        Err(io::Error::other("too many processes use it"))
    }

    fn prepare(&self) -> io::Result<()> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let marker = self.directory.join("boot_id");
        if std::fs::read_to_string(&marker).ok().as_ref() != Some(&boot) {
            remove(&self.packs())?;
            remove(&self.directory.join("repositories"))?;
        }
        remove(&self.incoming())?;
        for directory in [self.packs(), self.directory.join("repositories"), self.incoming()] {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(marker, boot)
    }

    pub fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    pub fn packs(&self) -> PathBuf {
        self.directory.join("packs")
    }

    pub fn incoming(&self) -> PathBuf {
        self.directory.join("incoming")
    }

    pub fn pack(&self, pack: &Pack, part: &str) -> PathBuf {
        self.packs().join(format!("{}.{part}", stem(pack)))
    }

    pub fn repository(&self, id: RepositoryId) -> PathBuf {
        self.directory.join("repositories").join(format!("{id}.git"))
    }

    /// Those that are here, in the order in which they were used.
    pub fn repositories(&self) -> io::Result<Vec<RepositoryId>> {
        let mut found = Vec::new();
        for file in std::fs::read_dir(self.directory.join("repositories"))? {
            let file = file?;
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".git")?.parse::<i64>().ok());
            let used = std::fs::metadata(file.path().join("HEAD")).and_then(|about| about.modified()).ok();
            found.extend(id.map(|id| (used, RepositoryId::from(id))));
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    pub fn bytes(&self) -> io::Result<u64> {
        bytes(&self.packs())
    }
}

fn bytes(packs: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for file in std::fs::read_dir(packs)? {
        sum += file?.metadata()?.len();
    }
    Ok(sum)
}

/// What the processes that share a directory have there, all together.
pub fn bytes_below(parent: &Path) -> io::Result<u64> {
    let slots = (0..MOST).map(|number| parent.join(number.to_string()).join("packs"));
    slots.filter(|packs| packs.is_dir()).map(|packs| bytes(&packs)).sum()
}

fn remove(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

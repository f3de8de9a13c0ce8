//! Detects files that were deleted from a cached repository from outside.
//!
//! After the pack directory has been compared with the pack list, its modification time is set to the Unix epoch. The
//! kernel changes it whenever a file is added or removed, so a different time means that the directory must be compared
//! again.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::{Duration, SystemTime};

use holdfast_git::{BareRepository, add_path};

use super::Result;

const VERIFIED_MTIME: SystemTime = SystemTime::UNIX_EPOCH;
const MODIFIED_OFFSET: Duration = Duration::from_secs(1);

/// Marks the pack directory as verified. The caller must check the files afterwards, since a deletion before this call
/// leaves no trace.
pub(super) fn mark_verified(bare: &BareRepository) -> std::io::Result<()> {
    set_mtime(bare, VERIFIED_MTIME)
}

pub(super) fn is_unmodified(bare: &BareRepository) -> bool {
    std::fs::metadata(bare.pack_dir()).and_then(|packs| packs.modified()).is_ok_and(|mtime| mtime == VERIFIED_MTIME)
}

/// Adds files to a pack directory and keeps it marked as verified, unless other files are deleted meanwhile.
pub(super) fn add_files_keeping_stamp(bare: &BareRepository, add_files: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = file_names(bare)?;
    let was_unmodified = is_unmodified(bare);
    add_files()?;
    if was_unmodified {
        mark_verified(bare)?;
        if !before.is_subset(&file_names(bare)?) {
            set_mtime(bare, VERIFIED_MTIME + MODIFIED_OFFSET)?;
        }
    }
    Ok(())
}

fn set_mtime(bare: &BareRepository, mtime: SystemTime) -> std::io::Result<()> {
    let directory = bare.pack_dir();
    std::fs::File::open(&directory).and_then(|file| file.set_modified(mtime)).map_err(add_path(&directory))
}

fn file_names(bare: &BareRepository) -> std::io::Result<HashSet<OsString>> {
    let directory = bare.pack_dir();
    let files = std::fs::read_dir(&directory).map_err(add_path(&directory))?;
    files.map(|file| file.map(|file| file.file_name())).collect()
}

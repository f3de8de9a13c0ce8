//! Packs files of the project directory into zip archives and unpacks them, for artifacts and caches.
//!
//! - File contents are streamed; no file is held in memory as a whole.
//! - Symbolic links are never followed, neither when packing nor when unpacking.
//! - [`unpack`] writes nothing outside of its root and nothing to `.git` in it, whatever the archive contains.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::selection::stays_inside;

/// Files above this size get zip64 headers. Those are needed from 4 GiB on; the margin is for files that compression
/// makes larger.
const LARGE_FILE_BYTES: u64 = 3 << 30;

/// Maximum length of the target of a symbolic link: Linux's `PATH_MAX`.
const MAX_LINK_BYTES: u64 = 4096;

/// Writes the files and symbolic links at `paths`, which are relative to `root`, to a zip archive.
pub fn pack(root: &Path, paths: &[PathBuf], output: File) -> anyhow::Result<File> {
    let mut zip = ZipWriter::new(output);
    for path in paths {
        let shown = path.display();
        let name = path.to_str().with_context(|| format!("{shown} is not a valid UTF-8 name"))?;
        let full = root.join(path);
        let kind = fs::symlink_metadata(&full).with_context(|| format!("{shown} no longer exists"))?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(kind.permissions().mode() & 0o777)
            .large_file(kind.len() > LARGE_FILE_BYTES);
        if kind.is_symlink() {
            let target = fs::read_link(&full)?;
            zip.add_symlink(name, target.to_string_lossy(), options)?;
            continue;
        }
        // The script may have replaced the file by a symbolic link since its metadata were read.
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(NO_FOLLOW)
            .open(&full)
            .with_context(|| format!("{shown} cannot be read"))?;
        zip.start_file(name, options.last_modified_time(to_zip_time(kind.modified()?)))?;
        io::copy(&mut file, &mut zip).with_context(|| format!("{shown} cannot be added to the archive"))?;
    }
    Ok(zip.finish()?)
}

/// `O_NOFOLLOW`, and `O_NONBLOCK` so that opening a named pipe does not block.
const NO_FOLLOW: i32 = (rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits()) as i32;

/// The result of [`unpack`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnpackSummary {
    pub files: usize,
    /// Names of entries that were skipped because they are outside of the root or below `.git`.
    pub rejected: Vec<String>,
}

/// Unpacks a zip archive below `root`. Entries that would be written outside of it are skipped, whether by their name
/// or through a symbolic link of the archive or of the tree.
pub fn unpack(from: File, root: &Path) -> anyhow::Result<UnpackSummary> {
    let mut zip = ZipArchive::new(from).context("the archive cannot be read")?;
    let mut summary = UnpackSummary::default();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let name = entry.name().to_owned();
        let Some(path) = entry.enclosed_name().filter(|path| is_safe_path(path)) else {
            summary.rejected.push(name);
            continue;
        };
        let is_directory = entry.is_dir();
        let parent = if is_directory { Some(path.as_path()) } else { path.parent() };
        if !create_directories(root, parent.unwrap_or(Path::new("")))? {
            summary.rejected.push(name);
            continue;
        }
        if is_directory {
            continue;
        }
        let full = root.join(&path);
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => {
                bail!("{name} is a file in the archive, but a directory in the project directory")
            }
            Ok(_) => fs::remove_file(&full)?,
            Err(_) => {}
        }
        if entry.is_symlink() {
            let mut target = String::new();
            entry.by_ref().take(MAX_LINK_BYTES).read_to_string(&mut target)?;
            if stays_inside(&path, Path::new(&target)) {
                symlink(&target, &full)?;
                summary.files += 1;
            } else {
                summary.rejected.push(name);
            }
            continue;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(&full)?;
        io::copy(&mut entry, &mut file).with_context(|| format!("{name} cannot be unpacked"))?;
        file.flush()?;
        if let Some(mode) = entry.unix_mode() {
            // Group and others never get write permission, and set-user-id and set-group-id bits are dropped.
            file.set_permissions(Permissions::from_mode(mode & 0o755 | 0o600))?;
        }
        // Build tools compare modification times to decide what to rebuild.
        if let Some(time) = entry.last_modified().and_then(from_zip_time) {
            file.set_modified(time)?;
        }
        summary.files += 1;
    }
    Ok(summary)
}

/// Returns whether an entry may be unpacked at this path. `.git` is excluded, because git executes the hooks and the
/// configuration in it.
fn is_safe_path(path: &Path) -> bool {
    let is_normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    is_normal && path.components().next().is_some_and(|first| first.as_os_str() != ".git")
}

/// Creates the directories of `path` below `root`. Returns false if one of them is a symbolic link or a file.
fn create_directories(root: &Path, path: &Path) -> io::Result<bool> {
    let mut full = root.to_owned();
    for part in path.components() {
        full.push(part);
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&full)?,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Converts a time to a zip timestamp, which is in UTC here. Times before 1980 become the zip epoch.
fn to_zip_time(time: SystemTime) -> zip::DateTime {
    let time = DateTime::<Utc>::from(time);
    let part = |number: u32| u8::try_from(number).unwrap_or_default();
    let year = u16::try_from(time.year()).unwrap_or_default();
    let (month, day) = (part(time.month()), part(time.day()));
    zip::DateTime::from_date_and_time(year, month, day, part(time.hour()), part(time.minute()), part(time.second()))
        .unwrap_or_default()
}

fn from_zip_time(stamp: zip::DateTime) -> Option<SystemTime> {
    let date = NaiveDate::from_ymd_opt(stamp.year().into(), stamp.month().into(), stamp.day().into())?;
    let time = date.and_hms_opt(stamp.hour().into(), stamp.minute().into(), stamp.second().into())?;
    Some(time.and_utc().into())
}

#[cfg(test)]
mod tests {
    use std::io::Seek;
    use std::time::Duration;

    use super::*;

    fn archive(entries: &[(&str, &str)], links: &[(&str, &str)]) -> File {
        let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, target) in links {
            zip.add_symlink(*name, *target, SimpleFileOptions::default()).unwrap();
        }
        for (name, text) in entries {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap()
    }

    #[test]
    fn archives_round_trip() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("d")).unwrap();
        fs::write(from.path().join("d/run"), "x".repeat(100_000)).unwrap();
        fs::set_permissions(from.path().join("d/run"), Permissions::from_mode(0o755)).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        File::options().write(true).open(from.path().join("d/run")).unwrap().set_modified(old).unwrap();
        symlink("run", from.path().join("d/link")).unwrap();
        let packed = pack(from.path(), &["d/link".into(), "d/run".into()], tempfile::tempfile().unwrap()).unwrap();
        assert!(packed.metadata().unwrap().len() < 10_000, "it is compressed");
        let done = unpack(packed, to.path()).unwrap();
        assert_eq!(done, UnpackSummary { files: 2, rejected: Vec::new() });
        let unpacked = fs::metadata(to.path().join("d/run")).unwrap();
        assert_eq!((unpacked.len(), unpacked.permissions().mode() & 0o777), (100_000, 0o755));
        assert_eq!(unpacked.modified().unwrap(), old);
        assert_eq!(fs::read_link(to.path().join("d/link")).unwrap(), Path::new("run"));
    }

    #[test]
    fn entry_names_cannot_escape_the_tree() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("tree");
        fs::create_dir(&root).unwrap();
        let names = ["../up", "a/../../up", "/up", ".git/hooks/post-checkout", "fine"];
        let entries: Vec<_> = names.iter().map(|name| (*name, "x")).collect();
        let mut file = archive(&entries, &[]);
        file.rewind().unwrap();
        let done = unpack(file, &root).unwrap();
        let mut left: Vec<_> = outer.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["tree"], "{done:?}");
        assert!(root.join("fine").exists() && !root.join(".git").exists());
        assert!(done.rejected.contains(&"../up".to_owned()), "{done:?}");
    }

    #[test]
    fn links_cannot_escape_the_tree() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("tree");
        fs::create_dir_all(outer.path().join("elsewhere")).unwrap();
        fs::create_dir(&root).unwrap();
        // The tree contains a link to a directory and one to a file; the archive contains two more links.
        symlink("../elsewhere", root.join("planted")).unwrap();
        symlink("../victim", root.join("file")).unwrap();
        fs::write(outer.path().join("victim"), "old").unwrap();
        let links = [("out", "../elsewhere"), ("in", "sub")];
        let entries = [("planted/x", "x"), ("out/x", "x"), ("file", "new"), ("in/x", "x")];
        let done = unpack(archive(&entries, &links), &root).unwrap();
        assert!(outer.path().join("elsewhere").read_dir().unwrap().next().is_none(), "{done:?}");
        assert_eq!(fs::read_to_string(outer.path().join("victim")).unwrap(), "old");
        assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "new");
        assert_eq!(done.rejected, ["out", "planted/x", "in/x"]);
    }
}

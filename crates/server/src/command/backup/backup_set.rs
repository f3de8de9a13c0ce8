//! The layout of a backup directory: names, manifests, and finding a backup to restore.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const DATABASE_FILE: &str = "database.dump";
/// File that lists the keys of the objects of a backup, one per line.
pub const OBJECTS_FILE: &str = "objects.txt";
const MANIFEST_FILE: &str = "manifest.json";
pub const FORMAT_VERSION: u32 = 1;

/// The description of a backup. Its file is written last, so its existence means that the backup is complete.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub program: String,
    /// Time of the snapshot; the backup contains all transactions that were committed before.
    pub at: DateTime<Utc>,
    pub schema: i64,
    pub objects: u64,
    /// Keys of objects that were deleted on purpose while the backup was running.
    pub removed_meanwhile: Vec<String>,
    /// Keys of objects that the database needs but the object store does not have.
    pub lost_before: Vec<String>,
}

/// A complete backup.
pub struct BackupSet {
    pub name: String,
    pub directory: PathBuf,
    pub manifest: Manifest,
}

const NAME_FORMAT: &str = "%Y%m%dT%H%M%S%.6fZ";

pub fn format_name(at: DateTime<Utc>) -> String {
    at.format(NAME_FORMAT).to_string()
}

pub fn format_time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl Manifest {
    pub fn is_missing(&self, key: &str) -> bool {
        self.removed_meanwhile.iter().chain(&self.lost_before).any(|known| known == key)
    }

    /// Writes the manifest and renames the unfinished directory, which makes it a complete backup.
    pub fn finish(self, directory: &Path, unfinished: &Path) -> anyhow::Result<BackupSet> {
        let name = format_name(self.at);
        let file = std::fs::File::create(unfinished.join(MANIFEST_FILE))?;
        serde_json::to_writer_pretty(&file, &self)?;
        file.sync_all()?;
        std::fs::File::open(unfinished)?.sync_all()?;
        let finished = directory.join(&name);
        std::fs::rename(unfinished, &finished)?;
        std::fs::File::open(directory)?.sync_all()?;
        Ok(BackupSet { name, directory: finished, manifest: self })
    }
}

impl BackupSet {
    /// Finds the last backup, or the last one that was taken at or before a time.
    pub fn find(directory: &Path, before: Option<DateTime<Utc>>) -> anyhow::Result<Self> {
        let entries = std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
        let mut found: Vec<(DateTime<Utc>, PathBuf)> = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            found.extend(NaiveDateTime::parse_from_str(name, NAME_FORMAT).ok().map(|at| (at.and_utc(), path)));
        }
        found.sort();
        let Some((first, _)) = found.first().cloned() else {
            bail!("there is no backup in {}", directory.display());
        };
        let Some((at, directory)) = found.into_iter().rfind(|(at, _)| before.is_none_or(|before| *at <= before)) else {
            bail!(
                "the first backup in {} was made at {}; set --at to a later time",
                directory.display(),
                format_time(first)
            );
        };
        let name = format_name(at);
        let unreadable = || format!("{name} is damaged; select an earlier backup with --at");
        let text = std::fs::read(directory.join(MANIFEST_FILE)).with_context(unreadable)?;
        let manifest: Value = serde_json::from_slice(&text).with_context(unreadable)?;
        if manifest["format"].as_u64().is_some_and(|format| format > FORMAT_VERSION.into()) {
            bail!("{name} was written by a later version of holdfast: restore it with that version");
        }
        let manifest = serde_json::from_value(manifest).with_context(unreadable)?;
        Ok(Self { name, directory, manifest })
    }
}

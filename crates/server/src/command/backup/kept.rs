//! What lies in a directory of backups.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

pub const DATABASE: &str = "database.dump";
/// A key in each line.
pub const OBJECTS: &str = "objects.txt";
const MANIFEST: &str = "manifest.json";
pub const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub program: String,
    /// All that was committed before is in it.
    pub at: DateTime<Utc>,
    pub schema: i64,
    pub objects: u64,
    /// Objects of what was deleted while they were copied.
    pub removed_meanwhile: Vec<String>,
    /// Objects that the storage lacked.
    pub lost_before: Vec<String>,
}

/// A backup that is complete.
pub struct Kept {
    pub name: String,
    pub directory: PathBuf,
    pub manifest: Manifest,
}

pub fn name(at: DateTime<Utc>) -> String {
    at.format("%Y%m%dT%H%M%S%.6fZ").to_string()
}

pub fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl Manifest {
    pub fn lacks(&self, key: &str) -> bool {
        self.removed_meanwhile.iter().chain(&self.lost_before).any(|known| known == key)
    }

    /// Only now it has the name of a backup.
    pub fn finish(self, directory: &Path, unfinished: &Path) -> anyhow::Result<Kept> {
        let name = name(self.at);
        let file = std::fs::File::create(unfinished.join(MANIFEST))?;
        serde_json::to_writer_pretty(&file, &self)?;
        file.sync_all()?;
        std::fs::File::open(unfinished)?.sync_all()?;
        let finished = directory.join(&name);
        std::fs::rename(unfinished, &finished)?;
        std::fs::File::open(directory)?.sync_all()?;
        Ok(Kept { name, directory: finished, manifest: self })
    }
}

impl Kept {
    /// The last one, or the last of those that end before a time.
    pub fn find(directory: &Path, before: Option<DateTime<Utc>>) -> anyhow::Result<Self> {
        let entries = std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
        let mut found: Vec<Self> = Vec::new();
        for entry in entries {
            let directory = entry?.path();
            let Ok(text) = std::fs::read(directory.join(MANIFEST)) else { continue };
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let manifest: Manifest =
                serde_json::from_slice(&text).with_context(|| format!("{name} cannot be understood"))?;
            if name == self::name(manifest.at) {
                found.push(Self { name, directory, manifest });
            }
        }
        found.sort_by_key(|kept| kept.manifest.at);
        let Some(first) = found.first().map(|kept| time(kept.manifest.at)) else {
            bail!("there is no backup in {}", directory.display());
        };
        let fitting = found.into_iter().rfind(|kept| before.is_none_or(|before| kept.manifest.at <= before));
        let Some(kept) = fitting else { bail!("the first backup in {} is of {first}", directory.display()) };
        if kept.manifest.format > FORMAT {
            bail!("{} was written by a later version: restore it with that", kept.name);
        }
        Ok(kept)
    }
}

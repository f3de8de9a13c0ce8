//! What lies in a directory of backups.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

const NAME: &str = "%Y%m%dT%H%M%S%.6fZ";

pub fn name(at: DateTime<Utc>) -> String {
    at.format(NAME).to_string()
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
        let mut found: Vec<(DateTime<Utc>, PathBuf)> = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            found.extend(NaiveDateTime::parse_from_str(name, NAME).ok().map(|at| (at.and_utc(), path)));
        }
        found.sort();
        let Some((first, _)) = found.first().cloned() else {
            bail!("there is no backup in {}", directory.display());
        };
        let Some((at, directory)) = found.into_iter().rfind(|(at, _)| before.is_none_or(|before| *at <= before)) else {
            bail!("the first backup in {} is of {}", directory.display(), time(first));
        };
        let name = name(at);
        let unreadable = || format!("{name} is damaged; `--at` chooses an earlier one");
        let text = std::fs::read(directory.join(MANIFEST)).with_context(unreadable)?;
        let manifest: Value = serde_json::from_slice(&text).with_context(unreadable)?;
        if manifest["format"].as_u64().is_some_and(|format| format > FORMAT.into()) {
            bail!("{name} was written by a later version: restore it with that");
        }
        let manifest = serde_json::from_value(manifest).with_context(unreadable)?;
        Ok(Self { name, directory, manifest })
    }
}

//! The commands `backup` and `restore`.
//!
//! - A backup directory holds any number of backups, each with a database dump and a list of its object keys.
//! - Objects are immutable, so all backups of a directory share one copy of each.
//! - An unfinished backup has a name that `restore` ignores.

mod backup_set;
mod copy;
mod postgres;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use holdfast_store::backup::{self, DatabaseSnapshot};
use holdfast_store::objects::Options;
use holdfast_store::{Database, Objects};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};

use super::{block_on, print};
use crate::configuration::Configuration;
use backup_set::{BackupSet, FORMAT_VERSION, Manifest};
use copy::{CopySummary, copy};
pub use postgres::pg_dump_version;

#[derive(clap::Args)]
pub struct Create {
    /// Directory of the backups. Created if it does not exist.
    directory: PathBuf,
}

#[derive(clap::Args)]
pub struct Restore {
    /// Directory of the backups.
    directory: PathBuf,
    /// Restore the last backup made before this time, such as 2026-11-16T04:00:00Z [default: the last backup]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<DateTime<Utc>>,
}

fn parse_time(text: &str) -> Result<DateTime<Utc>, &'static str> {
    text.parse().map_err(|_| "write it as 2026-11-16T04:00:00Z")
}

fn open_objects(directory: &Path) -> Objects {
    Objects::new(Options::Directory(directory.join("objects")))
}

pub fn create(configuration: &Configuration, arguments: &Create) -> anyhow::Result<()> {
    // Backups are readable only by the user of this process. The umask also applies to the files of pg_dump.
    umask(Mode::RWXG | Mode::RWXO);
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory.join("objects"))
        .with_context(|| format!("cannot write to {}", directory.display()))?;
    block_on(async {
        let moment = DatabaseSnapshot::open(configuration.direct_url()).await;
        let moment = moment.map_err(|error| configuration.database_error(error))?;
        let unfinished = directory.join(format!("unfinished-{}", backup_set::format_name(moment.taken_at)));
        std::fs::create_dir(&unfinished)?;
        let result = write_backup(configuration, directory, &unfinished, moment).await;
        if result.is_err() {
            // Free the space: the backup may have failed because the disk is full.
            std::fs::remove_dir_all(&unfinished).ok();
        }
        let Manifest { lost_before, .. } = result?.manifest;
        match lost_before.first() {
            None => Ok(()),
            Some(first) => bail!(
                "{} objects are missing in the storage, so the backup lacks them; find the affected repositories with \
                 `holdfast admin repo fsck`. The first missing object is {first}",
                lost_before.len()
            ),
        }
    })
}

async fn write_backup(
    configuration: &Configuration,
    directory: &Path,
    unfinished: &Path,
    mut moment: DatabaseSnapshot,
) -> anyhow::Result<BackupSet> {
    let storage = Objects::new(configuration.storage.options()?);
    let at = moment.taken_at;
    print(format!("{}: all changes up to {}", backup_set::format_name(at), backup_set::format_time(at)))?;
    let listed = write_object_list(&mut moment, &unfinished.join(backup_set::OBJECTS_FILE)).await?;
    print(format!("copying the database and {listed} objects"))?;
    postgres::dump(configuration.direct_url(), &moment.snapshot_id, &unfinished.join(backup_set::DATABASE_FILE))
        .await?;
    let schema = moment.schema_version;
    moment.close().await?;
    let target = open_objects(directory);
    let copied = copy(&storage, &target, &unfinished.join(backup_set::OBJECTS_FILE), listed).await?;
    let database = Database::new(&configuration.database_options())?;
    let (mut removed, mut lost) = (Vec::new(), Vec::new());
    for key in copied.missing {
        let is_needed = backup::is_needed(&mut *database.connection().await?, &key).await?;
        if is_needed { &mut lost } else { &mut removed }.push(key);
    }
    let manifest = Manifest {
        format: FORMAT_VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        at,
        schema,
        objects: listed,
        removed_meanwhile: removed,
        lost_before: lost,
    };
    let set = manifest.finish(directory, unfinished)?;
    print(format!("{} is {}", set.name, describe_result(&set.manifest, copied.count, copied.bytes)))?;
    Ok(set)
}

fn describe_result(manifest: &Manifest, new_objects: u64, bytes: u64) -> String {
    match manifest.lost_before.len() {
        0 => format!("complete: {new_objects} new objects, {bytes} bytes"),
        lost => format!("INCOMPLETE: {lost} of {} objects are missing", manifest.objects),
    }
}

/// Writes the keys of all objects of the snapshot to a file, and returns their number.
async fn write_object_list(moment: &mut DatabaseSnapshot, file: &Path) -> anyhow::Result<u64> {
    let mut output = BufWriter::new(File::create(file).await?);
    let mut keys = moment.object_keys();
    let mut count = 0;
    while let Some(key) = keys.try_next().await? {
        output.write_all(format!("{key}\n").as_bytes()).await?;
        count += 1;
    }
    output.flush().await?;
    output.get_ref().sync_all().await?;
    Ok(count)
}

pub fn restore(configuration: &Configuration, arguments: &Restore) -> anyhow::Result<()> {
    let storage = Objects::new(configuration.storage.options()?);
    block_on(async {
        let set = BackupSet::find(&arguments.directory, arguments.at)?;
        let is_empty = backup::is_empty(configuration.direct_url()).await;
        if !is_empty.map_err(|error| configuration.database_error(error))? {
            bail!(
                "the database {} is not empty: set database.url to an empty database",
                configuration.database_location()
            );
        }
        print(format!("{}: all changes up to {}", set.name, backup_set::format_time(set.manifest.at)))?;
        // Objects are restored first, because copying them can be repeated. The database must be empty before it is
        // restored, so its restore comes last.
        let source = open_objects(&arguments.directory);
        print(format!("copying {} objects", set.manifest.objects))?;
        let CopySummary { count, bytes, missing } =
            copy(&source, &storage, &set.directory.join(backup_set::OBJECTS_FILE), set.manifest.objects).await?;
        print(format!("copied {count} objects, {bytes} bytes"))?;
        let lost: Vec<&String> = missing.iter().filter(|key| !set.manifest.is_missing(key)).collect();
        if let Some(first) = lost.first() {
            bail!("{} objects are missing in the backup, for example {first}: the backup is damaged", lost.len());
        }
        print("restoring the database")?;
        postgres::restore(configuration.direct_url(), &set.directory.join(backup_set::DATABASE_FILE)).await?;
        print(
            "restored. Next steps:\n  encryption.key            must be the key of the original installation\n  \
             holdfast migrate          if this version is newer than the backup\n  \
             holdfast admin recover    finds later pushes, if the original storage is used\n  holdfast doctor\n  \
             holdfast serve",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_that_lacks_objects_is_not_called_complete() {
        let mut manifest = Manifest {
            format: FORMAT_VERSION,
            program: String::new(),
            at: DateTime::UNIX_EPOCH,
            schema: 1,
            objects: 2,
            removed_meanwhile: Vec::new(),
            lost_before: Vec::new(),
        };
        assert_eq!(describe_result(&manifest, 2, 10), "complete: 2 new objects, 10 bytes");
        manifest.lost_before.push("packs/a".into());
        assert_eq!(describe_result(&manifest, 1, 5), "INCOMPLETE: 1 of 2 objects are missing");
    }

    #[test]
    fn a_wrong_time_is_rejected_with_an_example() {
        assert!(parse_time("2026-11-16T04:00:00Z").is_ok());
        assert_eq!(parse_time("2026-11-16 04:00"), Err("write it as 2026-11-16T04:00:00Z"));
    }
}

//! Copies of everything, and installations made of them.
//!
//! A directory holds any number of backups, each a dump of the database and a list of the objects that belong to it, and all
//! the objects once: they never change. What is incomplete has a name that nobody takes for a backup.

mod copy;
mod kept;
mod postgres;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use holdfast_store::backup::{self, Moment};
use holdfast_store::objects::Options;
use holdfast_store::{Database, Objects};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};

use super::{block_on, print};
use crate::configuration::Configuration;
use copy::{Copied, copy};
use kept::{FORMAT, Kept, Manifest};
pub use postgres::pg_dump_version;

#[derive(clap::Args)]
pub struct Create {
    /// Where backups are kept; made if it is missing.
    directory: PathBuf,
}

#[derive(clap::Args)]
pub struct Restore {
    /// Where backups are kept.
    directory: PathBuf,
    /// The last one that was made before this time, for example 2026-11-16T04:00:00Z; without it the last one.
    #[arg(long, value_name = "TIME")]
    at: Option<DateTime<Utc>>,
}

fn objects_in(directory: &Path) -> Objects {
    Objects::new(Options::Directory(directory.join("objects")))
}

pub fn create(configuration: &Configuration, arguments: &Create) -> anyhow::Result<()> {
    // What is copied is private, and so is the copy: also what pg_dump writes.
    umask(Mode::RWXG | Mode::RWXO);
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory.join("objects"))
        .with_context(|| format!("cannot write to {}", directory.display()))?;
    block_on(async {
        let moment = Moment::now(configuration.direct_url()).await?;
        let unfinished = directory.join(format!("unfinished-{}", kept::name(moment.at)));
        std::fs::create_dir(&unfinished)?;
        let made = make(configuration, directory, &unfinished, moment).await;
        if made.is_err() {
            // It may be what the disk is full of.
            std::fs::remove_dir_all(&unfinished).ok();
        }
        let Manifest { lost_before, .. } = made?.manifest;
        match lost_before.first() {
            None => Ok(()),
            Some(first) => bail!(
                "{} objects are missing in the storage, and the backup lacks them too; `holdfast admin repo fsck` says \
                 whose they are. The first: {first}",
                lost_before.len()
            ),
        }
    })
}

async fn make(
    configuration: &Configuration,
    directory: &Path,
    unfinished: &Path,
    mut moment: Moment,
) -> anyhow::Result<Kept> {
    let storage = Objects::new(configuration.storage.options()?);
    let at = moment.at;
    print(format!("{}: everything up to {}", kept::name(at), kept::time(at)))?;
    let listed = list(&mut moment, &unfinished.join(kept::OBJECTS)).await?;
    print(format!("the database, and {listed} objects that belong to it"))?;
    postgres::dump(configuration.direct_url(), &moment.snapshot, &unfinished.join(kept::DATABASE)).await?;
    let schema = moment.schema;
    moment.end().await?;
    let target = objects_in(directory);
    let copied = copy(&storage, &target, &unfinished.join(kept::OBJECTS), listed).await?;
    let database = Database::new(&configuration.database_options())?;
    let (mut removed, mut lost) = (Vec::new(), Vec::new());
    for key in copied.missing {
        let is_needed = backup::is_needed(&mut *database.connection().await?, &key).await?;
        if is_needed { &mut lost } else { &mut removed }.push(key);
    }
    let manifest = Manifest {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").into(),
        at,
        schema,
        objects: listed,
        removed_meanwhile: removed,
        lost_before: lost,
    };
    let kept = manifest.finish(directory, unfinished)?;
    print(format!("{} is complete: {} new objects, {} bytes", kept.name, copied.count, copied.bytes))?;
    Ok(kept)
}

/// Writes down the keys of the objects; how many they are.
async fn list(moment: &mut Moment, file: &Path) -> anyhow::Result<u64> {
    let mut output = BufWriter::new(File::create(file).await?);
    let mut keys = moment.objects();
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
        let kept = Kept::find(&arguments.directory, arguments.at)?;
        if !backup::is_empty(configuration.direct_url()).await? {
            bail!(
                "there is something in the database {} already: name an empty one in database.url",
                configuration.database_place()
            );
        }
        print(format!("{}: everything up to {}", kept.name, kept::time(kept.manifest.at)))?;
        // The objects first: they can be copied again, and without them the database is worth nothing.
        let source = objects_in(&arguments.directory);
        let Copied { missing, .. } =
            copy(&source, &storage, &kept.directory.join(kept::OBJECTS), kept.manifest.objects).await?;
        let lost: Vec<&String> = missing.iter().filter(|key| !kept.manifest.lacks(key)).collect();
        if let Some(first) = lost.first() {
            bail!("{} objects are missing in the backup, for example {first}: it was damaged", lost.len());
        }
        print("the database")?;
        postgres::restore(configuration.direct_url(), &kept.directory.join(kept::DATABASE)).await?;
        print(
            "all is there. What comes next:\n  secrets.key               must be that of the backed up installation\n  holdfast migrate          in case this program is newer than the backup\n  \
             holdfast admin recover    what was pushed after it, if the storage is that of before\n  holdfast doctor\n  \
             holdfast serve",
        )
    })
}

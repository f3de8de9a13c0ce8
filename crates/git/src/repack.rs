//! Making few packs out of many. All of these leave the packs they read as they are, and write into `directory`.

use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::index_pack::IndexedPack;
use crate::program::{Command, read_said};
use crate::{Bare, Error, Git, Result};

/// A repository is packed anew in at most this time.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What lies in packs beside which there is a file `.keep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// There are none; so the new pack lacks nothing and gets a bitmap.
    Nothing,
    /// Is left out.
    LeftOut,
}

/// What no ref on the disk leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    Included,
    LeftOut,
}

/// Everything that the refs on the disk lead to. None if that is nothing.
pub async fn by_refs(
    git: &Git,
    bare: &Bare,
    kept: Kept,
    unreachable: Unreachable,
    directory: &Path,
) -> Result<Option<IndexedPack>> {
    let mut command = pack_objects(git, bare, directory).word("--all");
    if unreachable == Unreachable::Included {
        command = command.word("--keep-unreachable");
    }
    command = command.word(if kept == Kept::LeftOut { "--honor-pack-keep" } else { "--write-bitmap-index" });
    let output = command.path(&directory.join("pack")).run(b"", 4096, PATIENCE).await?;
    named_by(&output, directory)
}

/// Everything in these packs, which are named as their files are, but for what is in the others.
pub async fn of_packs(
    git: &Git,
    bare: &Bare,
    packs: &[String],
    others: &[String],
    directory: &Path,
) -> Result<Option<IndexedPack>> {
    let mut input = String::new();
    packs.iter().for_each(|name| input += &format!("{name}.pack\n"));
    others.iter().for_each(|name| input += &format!("^{name}.pack\n"));
    let command = pack_objects(git, bare, directory).word("--stdin-packs").path(&directory.join("pack"));
    named_by(&command.run(input.as_bytes(), 4096, PATIENCE).await?, directory)
}

/// The objects whose ids are the lines of a file.
pub async fn of_ids(git: &Git, bare: &Bare, ids: &Path, directory: &Path) -> Result<Option<IndexedPack>> {
    let mut running = pack_objects(git, bare, directory).path(&directory.join("pack")).start()?;
    let (mut stdin, mut stdout, stderr) = running.pipes();
    let mut ids = tokio::fs::File::open(ids).await?;
    let feed = async move {
        match tokio::io::copy(&mut ids, &mut stdin).await {
            // It says itself why it reads no more.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            // Without all of them the pack would lack some.
            copied => drop(copied?),
        }
        stdin.shutdown().await.ok();
        std::io::Result::Ok(())
    };
    let work = async {
        let mut output = Vec::new();
        let (fed, said, read) =
            tokio::join!(feed, read_said(stderr), tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut output));
        fed?;
        read?;
        running.succeeded(&said).await?;
        named_by(&output, directory)
    };
    let late = Err(Error::TimedOut { command: "pack-objects", after: PATIENCE });
    tokio::time::timeout(PATIENCE, work).await.unwrap_or(late)
}

/// Writes down the commits that the refs on the disk lead to, beside a pack that has all of them.
pub async fn write_graph(git: &Git, bare: &Bare, pack: &IndexedPack) -> Result<()> {
    let command = git.command(bare, "commit-graph").writing(bare.directory());
    let command = command.words(["write", "--reachable", "--no-progress"]);
    command.run(b"", 4096, PATIENCE).await?;
    match std::fs::rename(bare.graph(), pack.file("graph")) {
        // There is no commit.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        moved => Ok(moved?),
    }
}

/// Git writes a pack into the repository first, and then moves it to `directory`.
fn pack_objects(git: &Git, bare: &Bare, directory: &Path) -> Command {
    let command = git.command(bare, "pack-objects").writing(bare.directory()).writing(directory);
    command.words(["--delta-base-offset", "--non-empty", "--quiet"])
}

/// The pack that git says it has made there.
pub(crate) fn named_by(output: &[u8], directory: &Path) -> Result<Option<IndexedPack>> {
    let text = String::from_utf8_lossy(output);
    let Some(checksum) = text.lines().next().filter(|line| !line.is_empty()) else { return Ok(None) };
    let stem = directory.join(format!("pack-{checksum}"));
    if !stem.with_extension("idx").exists() {
        return Err(Error::protocol("git pack-objects did not name the pack"));
    }
    Ok(Some(IndexedPack::at(stem, checksum.to_owned())))
}

//! Writes new packs from the packs of a repository. Existing packs are only read; new ones are written to `directory`.

use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::index_pack::IndexedPack;
use crate::pack_file::PackFile;
use crate::process::{Command, read_stderr_tail};
use crate::{BareRepository, Error, Git, Result};

/// Maximum time of one command that writes a pack or a commit-graph.
const REPACK_TIMEOUT: Duration = Duration::from_secs(3600);

/// The treatment of packs that have a `.keep` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepPacks {
    /// There are no such packs. The new pack is complete and gets a bitmap.
    None,
    /// The objects of such packs are left out of the new pack.
    Exclude,
}

/// The treatment of objects that are unreachable from the refs on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    Include,
    Exclude,
}

/// Packs all objects that are reachable from the refs on disk and, if included, the unreachable ones. Returns None if
/// there are no objects to pack.
pub async fn pack_reachable(
    git: &Git,
    repository: &BareRepository,
    keep_packs: KeepPacks,
    unreachable: Unreachable,
    directory: &Path,
) -> Result<Option<IndexedPack>> {
    let mut command = pack_objects(git, repository, directory).arg("--all");
    if unreachable == Unreachable::Include {
        command = command.arg("--keep-unreachable");
    }
    command = command.arg(if keep_packs == KeepPacks::Exclude { "--honor-pack-keep" } else { "--write-bitmap-index" });
    let output = command.arg_path(&directory.join("pack")).run(b"", 4096, REPACK_TIMEOUT).await?;
    open_written_pack(&output, directory)
}

/// Packs the objects of `packs` that are not in `excluded`. Packs are named by their file names without extension.
/// Returns None if there are no objects to pack.
pub async fn merge_packs(
    git: &Git,
    repository: &BareRepository,
    packs: &[String],
    excluded: &[String],
    directory: &Path,
) -> Result<Option<IndexedPack>> {
    let mut input = String::new();
    packs.iter().for_each(|name| input += &format!("{name}.pack\n"));
    excluded.iter().for_each(|name| input += &format!("^{name}.pack\n"));
    let command = pack_objects(git, repository, directory).arg("--stdin-packs").arg_path(&directory.join("pack"));
    open_written_pack(&command.run(input.as_bytes(), 4096, REPACK_TIMEOUT).await?, directory)
}

/// Packs the objects whose ids are the lines of a file. Returns None if there are none.
pub async fn pack_ids(
    git: &Git,
    repository: &BareRepository,
    ids: &Path,
    directory: &Path,
) -> Result<Option<IndexedPack>> {
    let mut process = pack_objects(git, repository, directory).arg_path(&directory.join("pack")).start()?;
    let (mut stdin, mut stdout, stderr) = process.take_pipes();
    let mut ids = tokio::fs::File::open(ids).await?;
    let feed = async move {
        match tokio::io::copy(&mut ids, &mut stdin).await {
            // Git reports on stderr why it stopped reading.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            // An incomplete list would produce an incomplete pack.
            copied => drop(copied?),
        }
        stdin.shutdown().await.ok();
        std::io::Result::Ok(())
    };
    let work = async {
        let mut output = Vec::new();
        let (fed, stderr_tail, read) = tokio::join!(
            feed,
            read_stderr_tail(stderr),
            tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut output)
        );
        fed?;
        read?;
        process.wait_success(&stderr_tail).await?;
        open_written_pack(&output, directory)
    };
    let timed_out = Err(Error::TimedOut { command: "pack-objects", after: REPACK_TIMEOUT });
    tokio::time::timeout(REPACK_TIMEOUT, work).await.unwrap_or(timed_out)
}

/// Writes a commit-graph of the commits that are reachable from the refs on disk, next to a pack that contains all of
/// them.
pub async fn write_commit_graph(git: &Git, repository: &BareRepository, pack: &IndexedPack) -> Result<()> {
    let command = git.command(repository, "commit-graph").allow_write(repository.directory());
    let command = command.args(["write", "--reachable", "--no-progress"]);
    command.run(b"", 4096, REPACK_TIMEOUT).await?;
    match std::fs::rename(repository.commit_graph_path(), pack.file_path(PackFile::CommitGraph)) {
        // Git writes no file if there are no commits.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        renamed => Ok(renamed?),
    }
}

/// Prepares `git pack-objects`. Git writes a pack into the repository first, and then moves it to `directory`.
fn pack_objects(git: &Git, repository: &BareRepository, directory: &Path) -> Command {
    let command = git.command(repository, "pack-objects").allow_write(repository.directory()).allow_write(directory);
    command.args(["--delta-base-offset", "--non-empty", "--quiet"])
}

/// Returns the pack that `git pack-objects` wrote, by the checksum it printed. Returns None if it printed nothing.
pub(crate) fn open_written_pack(output: &[u8], directory: &Path) -> Result<Option<IndexedPack>> {
    let text = String::from_utf8_lossy(output);
    let Some(checksum) = text.lines().next().filter(|line| !line.is_empty()) else { return Ok(None) };
    let stem = directory.join(format!("pack-{checksum}"));
    if !stem.with_extension(PackFile::Index.extension()).exists() {
        return Err(Error::unexpected_output("pack-objects", "it did not print the name of the pack"));
    }
    Ok(Some(IndexedPack::new(stem, checksum.to_owned())))
}

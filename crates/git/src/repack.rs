//! Making one pack out of many.

use std::path::Path;
use std::time::Duration;

use crate::index_pack::IndexedPack;
use crate::{Bare, Error, Git, Result};

/// A repository is packed anew in at most this time.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Puts everything into one pack in `directory`, also what the refs on the disk do not reach; packs beside which a file
/// `.keep` lies are left out. If there are none of these the pack gets a bitmap. None if there is nothing to pack.
pub async fn pack_all(git: &Git, bare: &Bare, keeps_some: bool, directory: &Path) -> Result<Option<IndexedPack>> {
    let command = git.command(bare.directory(), "pack-objects");
    let command = command.words(["--all", "--keep-unreachable", "--delta-base-offset", "--non-empty", "--quiet"]);
    let command = command.word(if keeps_some { "--honor-pack-keep" } else { "--write-bitmap-index" });
    let output = command.path(&directory.join("pack")).run(b"", 4096, PATIENCE).await?;
    named_by(&output, directory)
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

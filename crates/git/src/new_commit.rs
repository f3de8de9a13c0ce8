//! Creates commits without a work tree, in a quarantine.

use std::time::Duration;

use gix::ObjectId;
use gix::actor::Signature as RawSignature;

use crate::index_pack::IndexedPack;
use crate::reader::{Reader, Signature};
use crate::repack::open_written_pack;
use crate::{Error, Git, Quarantine, Result};

/// Maximum time to pack the objects of new commits.
const PACK_TIMEOUT: Duration = Duration::from_secs(60);

/// A commit to be created.
#[derive(Clone, Debug)]
pub struct NewCommit {
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
    pub author: Signature,
    pub committer: Signature,
    pub message: String,
}

impl NewCommit {
    /// Writes the commit into the repository of a reader, which must be a quarantine.
    pub fn write(&self, quarantine: &Reader) -> Result<ObjectId> {
        let mut message = self.message.replace('\0', "");
        if !message.ends_with('\n') {
            message.push('\n');
        }
        let commit = gix::objs::Commit {
            tree: self.tree,
            parents: self.parents.iter().copied().collect(),
            author: raw_signature(&self.author),
            committer: raw_signature(&self.committer),
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let written = quarantine.0.write_object(commit);
        Ok(written.map_err(|error| Error::Object(error.to_string()))?.detach())
    }
}

/// Returns a signature in the form in which objects contain it.
pub(crate) fn raw_signature(signature: &Signature) -> RawSignature {
    // These characters would end the name, the address or the line.
    let plain = |text: &str| text.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect::<String>();
    RawSignature {
        name: plain(&signature.name).into(),
        email: plain(&signature.email).into(),
        time: gix::date::Time { seconds: signature.seconds, offset: signature.offset_seconds },
    }
}

/// Packs the objects that a commit reaches and the excluded commits do not, into a quarantine.
pub async fn pack(git: &Git, quarantine: &Quarantine, commit: ObjectId, excluded: &[ObjectId]) -> Result<IndexedPack> {
    let mut revisions = format!("{commit}\n");
    revisions.extend(excluded.iter().map(|commit| format!("^{commit}\n")));
    write_pack(git, quarantine, &["--revs", "--sparse"], &revisions).await
}

/// Writes a pack of the objects in `input` into a quarantine.
pub(crate) async fn write_pack(
    git: &Git,
    quarantine: &Quarantine,
    options: &[&'static str],
    input: &str,
) -> Result<IndexedPack> {
    let directory = quarantine.repository().pack_dir();
    let mut command = git.command(quarantine.repository(), "pack-objects").allow_write(&directory);
    for option in ["--quiet", "--delta-base-offset"].iter().chain(options) {
        command = command.arg(option);
    }
    let output = command.arg_path(&directory.join("pack")).run(input.as_bytes(), 4096, PACK_TIMEOUT).await?;
    let pack = open_written_pack(&output, &directory)?;
    pack.ok_or_else(|| Error::unexpected_output("pack-objects", "it did not print the name of the pack"))
}

//! Creates annotated tags.

use std::time::Duration;

use gix::ObjectId;
use gix::actor::Signature as RawSignature;
use gix::object::Kind;

use crate::index_pack::IndexedPack;
use crate::reader::{Reader, Signature};
use crate::repack::open_written_pack;
use crate::{Git, Quarantine, Result};

/// An annotated tag to be created.
#[derive(Clone, Debug)]
pub struct NewAnnotatedTag {
    pub target: ObjectId,
    pub name: String,
    pub tagger: Signature,
    pub message: String,
}

/// Writes a tag object into the quarantine, in its own pack.
pub async fn write(git: &Git, quarantine: &Quarantine, new_tag: NewAnnotatedTag) -> Result<(ObjectId, IndexedPack)> {
    let repository = quarantine.repository().clone();
    let writing = tokio::task::spawn_blocking(move || new_tag.write(&Reader::open(&repository)?));
    let id = writing.await.map_err(|panicked| crate::Error::protocol(panicked.to_string()))??;
    let command = git
        .command(quarantine.repository(), "pack-objects")
        .allow_write(&quarantine.repository().pack_dir())
        .args(["--quiet", "--delta-base-offset"]);
    let command = command.arg_path(&quarantine.repository().pack_dir().join("pack"));
    let output = command.run(format!("{id}\n").as_bytes(), 4096, Duration::from_secs(60)).await?;
    let pack = open_written_pack(&output, &quarantine.repository().pack_dir())?;
    Ok((id, pack.ok_or_else(|| crate::Error::protocol("git pack-objects did not print the name of the pack"))?))
}

impl NewAnnotatedTag {
    fn write(&self, reader: &Reader) -> Result<ObjectId> {
        let written = reader.0.write_object(self.to_object());
        Ok(written.map_err(|error| crate::Error::Object(error.to_string()))?.detach())
    }

    fn to_object(&self) -> gix::objs::Tag {
        // These characters would end the name, the address or the line.
        let plain = |text: &str| text.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect::<String>();
        let mut message = self.message.clone();
        if !message.ends_with('\n') {
            message.push('\n');
        }
        gix::objs::Tag {
            target: self.target,
            target_kind: Kind::Commit,
            name: self.name.as_str().into(),
            tagger: Some(RawSignature {
                name: plain(&self.tagger.name).into(),
                email: plain(&self.tagger.email).into(),
                time: gix::date::Time { seconds: self.tagger.seconds, offset: self.tagger.offset_seconds },
            }),
            message: message.into(),
            signature: None,
        }
    }
}

//! Creates annotated tags.

use gix::ObjectId;
use gix::object::Kind;

use crate::index_pack::IndexedPack;
use crate::new_commit::{raw_signature, write_pack};
use crate::reader::{Reader, Signature};
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
    let pack = write_pack(git, quarantine, &[], &format!("{id}\n")).await?;
    Ok((id, pack))
}

impl NewAnnotatedTag {
    fn write(&self, reader: &Reader) -> Result<ObjectId> {
        let written = reader.0.write_object(self.to_object());
        Ok(written.map_err(|error| crate::Error::Object(error.to_string()))?.detach())
    }

    fn to_object(&self) -> gix::objs::Tag {
        let mut message = self.message.clone();
        if !message.ends_with('\n') {
            message.push('\n');
        }
        gix::objs::Tag {
            target: self.target,
            target_kind: Kind::Commit,
            name: self.name.as_str().into(),
            tagger: Some(raw_signature(&self.tagger)),
            message: message.into(),
            signature: None,
        }
    }
}

//! Making annotated tags.

use std::time::Duration;

use gix::ObjectId;
use gix::actor::Signature as RawSignature;
use gix::object::Kind;

use crate::index_pack::IndexedPack;
use crate::reader::{Reader, Signature};
use crate::repack::named_by;
use crate::{Git, Incoming, Result};

/// What a tag says of a commit.
#[derive(Clone, Debug)]
pub struct Annotation {
    pub target: ObjectId,
    pub name: String,
    pub tagger: Signature,
    pub message: String,
}

/// As an object, in a pack of its own.
pub async fn write(git: &Git, incoming: &Incoming, annotation: Annotation) -> Result<(ObjectId, IndexedPack)> {
    let bare = incoming.bare().clone();
    let writing = tokio::task::spawn_blocking(move || annotation.write(&Reader::open(&bare)?));
    let id = writing.await.map_err(|panicked| crate::Error::protocol(panicked.to_string()))??;
    let command = git
        .command(incoming.bare(), "pack-objects")
        .writing(&incoming.bare().packs())
        .words(["--quiet", "--delta-base-offset"]);
    let command = command.path(&incoming.bare().packs().join("pack"));
    let output = command.run(format!("{id}\n").as_bytes(), 4096, Duration::from_secs(60)).await?;
    let pack = named_by(&output, &incoming.bare().packs())?;
    Ok((id, pack.ok_or_else(|| crate::Error::protocol("git pack-objects did not name the pack"))?))
}

impl Annotation {
    fn write(&self, into: &Reader) -> Result<ObjectId> {
        let written = into.0.write_object(self.object());
        Ok(written.map_err(|error| crate::Error::Object(error.to_string()))?.detach())
    }

    fn object(&self) -> gix::objs::Tag {
        // What would end the line ends the name instead.
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

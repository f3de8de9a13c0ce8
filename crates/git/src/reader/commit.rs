use encoding_rs::Encoding;
use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::{Kind, Reader, unreadable};
use crate::{Error, Result};

/// Who did something, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// Of the time zone it was recorded in.
    pub offset_seconds: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: ObjectId,
    pub parents: Vec<ObjectId>,
    pub author: Signature,
    pub committer: Signature,
    /// As it was written; what is no UTF-8 is replaced.
    pub message: String,
}

impl Reader {
    pub fn commit(&self, id: ObjectId) -> Result<Commit> {
        self.expect_commit(id)?;
        let found = self.0.find_commit(id).map_err(unreadable(id))?;
        let commit = found.decode().map_err(unreadable(id))?;
        // What it was written in, where that is not UTF-8; git tells it so, too.
        let encoding = commit.encoding.and_then(|name| Encoding::for_label(name));
        let text = |bytes: &[u8]| match encoding {
            Some(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            None => String::from_utf8_lossy(bytes).into_owned(),
        };
        let signature = |raw: gix::Result<gix::actor::SignatureRef<'_>>| {
            let raw = raw.map_err(unreadable(id))?;
            // A time that cannot be read is no reason to hide a commit that git accepts.
            let time = raw.time().unwrap_or_default();
            Ok::<_, Error>(Signature {
                name: text(raw.name.trim_ascii()),
                email: text(raw.email.trim_ascii()),
                seconds: time.seconds,
                offset_seconds: time.offset,
            })
        };
        Ok(Commit {
            id,
            parents: commit.parents().collect(),
            author: signature(commit.author())?,
            committer: signature(commit.committer())?,
            message: text(commit.message),
        })
    }

    /// What an annotated tag says, without its last line break; None for what is no tag.
    pub fn annotation(&self, id: ObjectId) -> Result<Option<String>> {
        if self.small(id)? != Kind::Tag {
            return Ok(None);
        }
        let found = self.0.find_tag(id).map_err(unreadable(id))?;
        let tag = found.decode().map_err(unreadable(id))?;
        // It takes the empty line before a message of nothing but empty lines for a part of it.
        let text = found.data.split_once_str("\n\n").map_or(&b""[..], |(_, text)| text);
        let text = tag.signature.and_then(|signature| text.strip_suffix(&**signature)).unwrap_or(text);
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: ObjectId) -> Result<ObjectId> {
        self.expect_commit(commit)?;
        let found = self.0.find_commit(commit).map_err(unreadable(commit))?;
        Ok(found.tree_id().map_err(unreadable(commit))?.detach())
    }
}

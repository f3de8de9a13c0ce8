//! Reads commits and annotated tags.

use encoding_rs::Encoding;
use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::{Kind, Reader, unreadable};
use crate::{Error, Result};

/// The name, email address and time of an author, committer or tagger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// Offset of the time zone in which the time was recorded.
    pub offset_seconds: i32,
}

/// A commit as it is stored in a repository, without its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: ObjectId,
    pub parents: Vec<ObjectId>,
    pub author: Signature,
    pub committer: Signature,
    /// The message, decoded with the commit's encoding. Invalid bytes are replaced.
    pub message: String,
}

impl Reader {
    pub fn commit(&self, id: ObjectId) -> Result<Commit> {
        self.expect_commit(id)?;
        let found = self.0.find_commit(id).map_err(unreadable(id))?;
        let commit = found.decode().map_err(unreadable(id))?;
        // Git also decodes commits that declare another encoding than UTF-8.
        let encoding = commit.encoding.and_then(|name| Encoding::for_label(name));
        let text = |bytes: &[u8]| match encoding {
            Some(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            None => String::from_utf8_lossy(bytes).into_owned(),
        };
        let signature = |raw: gix::Result<gix::actor::SignatureRef<'_>>| {
            let raw = raw.map_err(unreadable(id))?;
            // Git accepts commits with a malformed time, so they must be readable.
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

    /// Returns the message of an annotated tag without its signature and last newline, or None if the object is no tag.
    pub fn tag_message(&self, id: ObjectId) -> Result<Option<String>> {
        if self.checked_kind(id)? != Kind::Tag {
            return Ok(None);
        }
        let found = self.0.find_tag(id).map_err(unreadable(id))?;
        let tag = found.decode().map_err(unreadable(id))?;
        // The decoded message of gitoxide includes the separating empty line if the message has only empty lines.
        let text = found.data.split_once_str("\n\n").map_or(&b""[..], |(_, text)| text);
        let text = tag.signature.and_then(|signature| text.strip_suffix(&**signature)).unwrap_or(text);
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }

    /// Returns the id of a commit's tree.
    pub fn commit_tree_id(&self, commit: ObjectId) -> Result<ObjectId> {
        self.expect_commit(commit)?;
        let found = self.0.find_commit(commit).map_err(unreadable(commit))?;
        Ok(found.tree_id().map_err(unreadable(commit))?.detach())
    }
}

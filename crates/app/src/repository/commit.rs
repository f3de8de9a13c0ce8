//! Commits, as branches and tags show them.

use chrono::{DateTime, FixedOffset};
use holdfast_git::ObjectId;
use holdfast_git::reader::{self, Reader, Signature};

use super::fetch::Opened;
use super::objects;
use crate::{App, Result};

#[derive(Clone, Debug)]
pub struct Commit {
    pub id: ObjectId,
    pub parents: Vec<ObjectId>,
    pub message: String,
    pub author: Person,
    pub committer: Person,
}

#[derive(Clone, Debug)]
pub struct Person {
    pub name: String,
    pub email: String,
    /// In the time zone in which it was recorded.
    pub at: DateTime<FixedOffset>,
}

impl From<reader::Commit> for Commit {
    fn from(commit: reader::Commit) -> Self {
        Self {
            id: commit.id,
            parents: commit.parents,
            message: commit.message,
            author: commit.author.into(),
            committer: commit.committer.into(),
        }
    }
}

impl From<Signature> for Person {
    fn from(signature: Signature) -> Self {
        let at = time(&signature).unwrap_or_default();
        Self { name: signature.name, email: signature.email, at }
    }
}

/// None for one that no calendar knows.
pub(super) fn time(signature: &Signature) -> Option<DateTime<FixedOffset>> {
    let offset = FixedOffset::east_opt(signature.offset_seconds)?;
    Some(DateTime::from_timestamp(signature.seconds, 0)?.with_timezone(&offset))
}

/// One for each id.
pub(super) async fn load(app: &App, opened: &Opened, ids: Vec<ObjectId>) -> Result<Vec<Commit>> {
    objects::read(app, opened, move |reader| load_with(reader, ids)).await
}

pub(super) fn load_with(reader: &Reader, ids: Vec<ObjectId>) -> Result<Vec<Commit>> {
    ids.into_iter().map(|id| Ok(reader.commit(id)?.into())).collect()
}

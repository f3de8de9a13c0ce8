//! Commits, as branches and tags show them.

use chrono::{DateTime, FixedOffset};
use holdfast_domain::text::shorten;
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

/// Maximum size of the message of a commit or a tag in a list. Git has no limit; the longest messages that people write
/// are merges that list what they bring.
pub(super) const MAX_LISTED_MESSAGE_BYTES: usize = 32 << 10;
/// Maximum size of a name or an address of a commit in a list.
const MAX_LISTED_NAME_BYTES: usize = 1 << 10;
/// Maximum number of parents of a commit in a list.
const MAX_LISTED_PARENTS: usize = 100;

impl Commit {
    /// Cuts the commit to what a list shows of it: a commit may have a megabyte of message, names or parents.
    pub(super) fn abridge(&mut self) {
        shorten(&mut self.message, MAX_LISTED_MESSAGE_BYTES);
        for person in [&mut self.author, &mut self.committer] {
            shorten(&mut person.name, MAX_LISTED_NAME_BYTES);
            shorten(&mut person.email, MAX_LISTED_NAME_BYTES);
        }
        if self.parents.len() > MAX_LISTED_PARENTS {
            self.parents = self.parents[..MAX_LISTED_PARENTS].to_vec();
        }
    }
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

/// Reads one commit as a whole.
pub(super) async fn load(app: &App, opened: &Opened, id: ObjectId) -> Result<Commit> {
    objects::read(app, opened, move |reader| Ok(reader.commit(id)?.into())).await
}

/// Reads commits as a list shows them, one for each id.
pub(super) async fn load_listed(app: &App, opened: &Opened, ids: Vec<ObjectId>) -> Result<Vec<Commit>> {
    objects::read(app, opened, move |reader| load_listed_with(reader, ids)).await
}

/// Like [`load_listed`], with a reader that is open already.
pub(super) fn load_listed_with(reader: &Reader, ids: Vec<ObjectId>) -> Result<Vec<Commit>> {
    let load = |id| {
        let mut commit = Commit::from(reader.commit(id)?);
        commit.abridge();
        Ok(commit)
    };
    ids.into_iter().map(load).collect()
}

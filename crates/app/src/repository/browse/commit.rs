//! Reads commits, in full or shortened for lists.

use chrono::{DateTime, FixedOffset};
use holdfast_domain::text::shorten;
use holdfast_git::ObjectId;
use holdfast_git::reader::{self, Reader, Signature};
use holdfast_store::projects::project::Project;

use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

#[derive(Clone, Debug)]
pub struct Commit {
    pub id: ObjectId,
    pub parents: Vec<ObjectId>,
    pub message: String,
    pub author: Person,
    pub committer: Person,
}

/// A commit of a project.
#[derive(Clone, Debug)]
pub struct ProjectCommit {
    pub project: Project,
    pub commit: Commit,
}

#[derive(Clone, Debug)]
pub struct Person {
    pub name: String,
    pub email: String,
    /// In the time zone in which it was recorded.
    pub date: DateTime<FixedOffset>,
}

/// Maximum size of the message of a commit or a tag in a list. Git has no limit; the longest messages that people write
/// are those of merges that list their commits.
pub(in crate::repository) const MAX_LISTED_MESSAGE_BYTES: usize = 32 << 10;
/// Maximum size of a name or an address of a commit in a list.
const MAX_LISTED_NAME_BYTES: usize = 1 << 10;
/// Maximum number of parents of a commit in a list.
const MAX_LISTED_PARENTS: usize = 100;

impl Commit {
    /// Shortens the commit to what a list shows of it: a commit may have a megabyte of message, names or parents.
    pub(in crate::repository) fn abridge(&mut self) {
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
        let date = signature_time(&signature).unwrap_or_default();
        Self { name: signature.name, email: signature.email, date }
    }
}

/// Returns the time of a signature, or `None` if it is out of range.
pub(in crate::repository) fn signature_time(signature: &Signature) -> Option<DateTime<FixedOffset>> {
    let offset = FixedOffset::east_opt(signature.offset_seconds)?;
    Some(DateTime::from_timestamp(signature.seconds, 0)?.with_timezone(&offset))
}

/// Maximum size of a name or an email address that is stored in the database. Git has no limit.
const MAX_STORED_NAME_BYTES: usize = 1 << 10;

/// Returns the beginning of a text, at most `maximum` bytes of it, without zero bytes: git allows them in texts,
/// PostgreSQL does not.
pub(in crate::repository) fn clean_text(text: &str, maximum: usize) -> String {
    let mut text = text.replace('\0', "");
    shorten(&mut text, maximum);
    text
}

/// Like [`clean_text`], for the name or the email address of an author or committer.
pub(in crate::repository) fn clean_name(name: &str) -> String {
    clean_text(name, MAX_STORED_NAME_BYTES)
}

/// Reads one commit in full.
pub(in crate::repository) async fn load(app: &App, repository: &OpenRepository, id: ObjectId) -> Result<Commit> {
    objects::read(app, repository, move |reader| Ok(reader.commit(id)?.into())).await
}

/// Reads commits as a list shows them, one for each id.
pub(in crate::repository) async fn load_listed(
    app: &App,
    repository: &OpenRepository,
    ids: Vec<ObjectId>,
) -> Result<Vec<Commit>> {
    objects::read(app, repository, move |reader| load_listed_with(reader, ids)).await
}

/// Reads one commit as a list shows it.
pub(super) async fn load_one_listed(app: &App, repository: &OpenRepository, id: ObjectId) -> Result<Commit> {
    let mut commit = load(app, repository, id).await?;
    commit.abridge();
    Ok(commit)
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

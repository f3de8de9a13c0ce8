//! Commits, as branches and tags show them.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use holdfast_domain::ids::RepositoryId;
use holdfast_git::reader::{self, Kept, Reader, Signature};
use holdfast_git::{Bare, ObjectId};
use holdfast_store::cache::Lease;

use super::fetch::Opened;
use crate::{App, Error, Result};

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

/// Looks into the objects of a repository.
pub(super) async fn read<T: Send + 'static>(
    app: &App,
    opened: &Opened,
    look: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
) -> Result<T> {
    Objects::of(app, opened).await?.read(look).await
}

/// Those of a repository, on this node as long as this is there.
#[derive(Clone)]
pub(super) struct Objects {
    lease: Arc<Lease>,
    readers: moka::sync::Cache<RepositoryId, Arc<Kept>>,
    id: RepositoryId,
}

impl Objects {
    pub async fn of(app: &App, opened: &Opened) -> Result<Self> {
        let id = opened.project.repository.id;
        let lease = Arc::new(app.lease(id, opened.refs.generation).await?);
        Ok(Self { lease, readers: app.engine.readers.clone(), id })
    }

    pub fn bare(&self) -> &Bare {
        &self.lease.bare
    }

    pub async fn read<T: Send + 'static>(&self, look: impl FnOnce(&Reader) -> Result<T> + Send + 'static) -> Result<T> {
        let it = self.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let kept = match it.readers.get(&it.id) {
                Some(kept) => kept,
                None => {
                    let kept = Arc::new(Kept::open(it.bare())?);
                    it.readers.insert(it.id, kept.clone());
                    kept
                }
            };
            look(&kept.reader())
        });
        looking.await.map_err(|panicked| Error::Internal(panicked.into()))?
    }
}

/// One for each id.
pub(super) async fn load(app: &App, opened: &Opened, ids: Vec<ObjectId>) -> Result<Vec<Commit>> {
    read(app, opened, move |reader| load_with(reader, ids)).await
}

pub(super) fn load_with(reader: &Reader, ids: Vec<ObjectId>) -> Result<Vec<Commit>> {
    ids.into_iter().map(|id| Ok(reader.commit(id)?.into())).collect()
}

//! The objects of a repository, on this node's disk.

use std::sync::Arc;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::Bare;
use holdfast_git::reader::{Kept, Reader};
use holdfast_store::cache::Lease;

use super::fetch::Opened;
use crate::{App, Error, Result};

/// Looks into the objects of a repository.
pub(super) async fn read<T: Send + 'static>(
    app: &App,
    opened: &Opened,
    look: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
) -> Result<T> {
    GitObjects::of(app, opened).await?.read(look).await
}

/// Those of a repository, on this node as long as this is there.
#[derive(Clone)]
pub(super) struct GitObjects {
    lease: Arc<Lease>,
    readers: moka::sync::Cache<RepositoryId, Arc<Kept>>,
    id: RepositoryId,
}

impl GitObjects {
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

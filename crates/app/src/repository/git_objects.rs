//! The git objects of a repository in the local cache. The object store is `objects.rs` of `store`.

use std::sync::Arc;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::BareRepository;
use holdfast_git::reader::{CachedReader, Reader};
use holdfast_store::cache::CachedRepository;

use crate::client::{ClientKey, ClientPermits};
use crate::{App, Result};

/// The objects of a repository, which stays in the local cache as long as this exists.
#[derive(Clone)]
pub(super) struct GitObjects {
    cached_repository: Arc<CachedRepository>,
    readers: moka::sync::Cache<RepositoryId, Arc<CachedReader>>,
    permits: Arc<ClientPermits>,
    client: ClientKey,
    id: RepositoryId,
}

impl GitObjects {
    /// Opens the repository with the packs of `generation` or later. Reads count for the permits of `client`.
    pub async fn open(app: &App, id: RepositoryId, generation: i64, client: ClientKey) -> Result<Self> {
        let cached_repository = Arc::new(app.cached_repository(id, generation).await?);
        let runtime = &app.git_runtime;
        let (readers, permits) = (runtime.readers.clone(), runtime.object_read_permits.clone());
        Ok(Self { cached_repository, readers, permits, client, id })
    }

    pub fn repository(&self) -> &BareRepository {
        &self.cached_repository.bare
    }

    /// Reads objects on a blocking thread.
    pub async fn read<T: Send + 'static>(
        &self,
        inspect: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let objects = self.clone();
        let work = move || {
            let cached_reader = match objects.readers.get(&objects.id) {
                Some(cached_reader) => cached_reader,
                None => {
                    let cached_reader = Arc::new(CachedReader::open(objects.repository())?);
                    objects.readers.insert(objects.id, cached_reader.clone());
                    cached_reader
                }
            };
            inspect(&cached_reader.reader())
        };
        self.permits.run_blocking(self.client, work).await
    }
}

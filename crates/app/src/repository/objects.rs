//! Reads git objects of a repository from the local cache. The object store is `objects.rs` of `store`.

use std::sync::Arc;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::BareRepository;
use holdfast_git::reader::{CachedReader, Reader};
use holdfast_store::cache::CachedRepository;

use super::open_repository::OpenRepository;
use crate::client::{ClientKey, ClientPermits};
use crate::{App, Result};

/// Reads objects of a repository on a blocking thread.
pub(super) async fn read<T: Send + 'static>(
    app: &App,
    repository: &OpenRepository,
    inspect: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
) -> Result<T> {
    GitObjects::open(app, repository).await?.read(inspect).await
}

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
    pub async fn open(app: &App, repository: &OpenRepository) -> Result<Self> {
        let id = repository.project.repository.id;
        let cached_repository = Arc::new(app.cached_repository(id, repository.refs.generation).await?);
        let runtime = &app.git_runtime;
        let (readers, permits) = (runtime.readers.clone(), runtime.object_read_permits.clone());
        Ok(Self { cached_repository, readers, permits, client: repository.client, id })
    }

    pub fn repository(&self) -> &BareRepository {
        &self.cached_repository.bare
    }

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

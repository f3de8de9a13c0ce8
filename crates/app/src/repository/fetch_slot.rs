//! Slots for git processes that read a repository: fetches, archives, comparisons and walks over the history.

use holdfast_git::Quarantine;
use holdfast_store::cache::CachedRepository;
use tokio::sync::OwnedSemaphorePermit;

use super::open_repository::OpenRepository;
use crate::{App, Result};

/// What a running git process holds: the pinned cached repository, and the permits of its fetch.
pub(super) struct FetchSlot {
    pub cached_repository: CachedRepository,
    _view: Option<Quarantine>,
    _permits: (OwnedSemaphorePermit, OwnedSemaphorePermit),
    _client_permit: OwnedSemaphorePermit,
}

impl FetchSlot {
    /// Waits for the permits of a fetch, and then for the cached repository.
    pub async fn acquire(app: &App, repository: &OpenRepository) -> Result<Self> {
        let client_permit = app.git_runtime.acquire_client_fetch_permit(repository.client).await;
        Self::acquire_with(app, repository, client_permit).await
    }

    /// Like [`Self::acquire`], with a client permit that the caller has acquired.
    pub async fn acquire_with(
        app: &App,
        repository: &OpenRepository,
        client_permit: OwnedSemaphorePermit,
    ) -> Result<Self> {
        let id = repository.project.repository.id;
        let permits = app.git_runtime.acquire_fetch_permits(id).await;
        let cached_repository = app.cached_repository(id, repository.refs.generation).await?;
        Ok(Self { cached_repository, _view: None, _permits: permits, _client_permit: client_permit })
    }

    /// Adds a view of the repository that git reads. It is deleted with the slot.
    pub fn with_view(self, view: Option<Quarantine>) -> Self {
        Self { _view: view, ..self }
    }
}

//! Slots for git processes that read a repository. Archives, comparisons, large files and trees, and walks over the
//! history count as fetches: they acquire a [`FetchSlot`] and share the limit `git.max_fetches`.

use std::sync::Arc;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::Quarantine;
use holdfast_store::cache::CachedRepository;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::open_repository::OpenRepository;
use crate::client::{ClientKey, KeyedSemaphores, client_share};
use crate::{App, Result};

/// The permits of fetches on this node. A fetch acquires one of its client, then one of its repository, and then one of
/// the node. In this order, so that a fetch that waits for its client or its repository holds no permit of the node.
pub(super) struct FetchPermits {
    clients: KeyedSemaphores<ClientKey>,
    repositories: KeyedSemaphores<RepositoryId>,
    node: Arc<Semaphore>,
}

impl FetchPermits {
    pub fn new(max_fetches: usize, max_fetches_per_repository: usize) -> Self {
        Self {
            clients: KeyedSemaphores::new(client_share(max_fetches)),
            repositories: KeyedSemaphores::new(max_fetches_per_repository),
            node: Arc::new(Semaphore::new(max_fetches)),
        }
    }

    /// Waits until this client has less than its share of fetches.
    pub async fn acquire_client(&self, client: ClientKey) -> OwnedSemaphorePermit {
        self.clients.acquire(client).await
    }

    /// Like [`Self::acquire_client`], but returns `None` instead of waiting.
    pub fn try_acquire_client(&self, client: ClientKey) -> Option<OwnedSemaphorePermit> {
        self.clients.try_acquire(client)
    }

    /// Waits for a permit of the repository and then for one of the node.
    async fn acquire_repository_and_node(&self, id: RepositoryId) -> (OwnedSemaphorePermit, OwnedSemaphorePermit) {
        let repository_permit = self.repositories.acquire(id).await;
        let node_permit = self.node.clone().acquire_owned().await.expect("the semaphore is never closed");
        (repository_permit, node_permit)
    }
}

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
        let client_permit = app.git_runtime.fetch_permits.acquire_client(repository.client).await;
        Self::acquire_with(app, repository, client_permit).await
    }

    /// Like [`Self::acquire`], with a client permit that the caller has acquired.
    pub async fn acquire_with(
        app: &App,
        repository: &OpenRepository,
        client_permit: OwnedSemaphorePermit,
    ) -> Result<Self> {
        let id = repository.project.repository.id;
        let permits = app.git_runtime.fetch_permits.acquire_repository_and_node(id).await;
        let cached_repository = app.cached_repository(id, repository.refs.generation).await?;
        Ok(Self { cached_repository, _view: None, _permits: permits, _client_permit: client_permit })
    }

    /// Adds a view of the repository that git reads. It is deleted with the slot.
    pub fn with_view(self, view: Option<Quarantine>) -> Self {
        Self { _view: view, ..self }
    }
}

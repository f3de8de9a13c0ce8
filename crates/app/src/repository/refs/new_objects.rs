//! Updates refs to objects that this server has created: commits and annotated tags.

use std::time::Duration;

use holdfast_git::index_pack::IndexedPack;
use holdfast_git::pack_file::PackSizes;
use holdfast_git::reader::Signature;
use holdfast_store::cache::CachedRepository;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use holdfast_store::repository::release::NewRelease;
use holdfast_store::{Connection, commit};
use tokio::time::timeout;

use super::planned_update::PlannedUpdate;
use super::ref_update::{self, RefUpdateBatch, RefUpdateResult};
use super::tag_permissions;
use crate::actor::CurrentUser;
use crate::repository::open_repository::OpenRepository;
use crate::repository::pack::store_pack;
use crate::repository::transfer::push;
use crate::repository::transfer::receipt::IntendedPush;
use crate::{App, Result};

/// Maximum time that a request waits until the local cache has the new pack.
const CACHE_UPDATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the current user as the author, committer or tagger of an object that is created now.
pub(crate) fn signature(app: &App, current_user: &CurrentUser) -> Signature {
    let user = &current_user.account.summary;
    Signature {
        name: user.name.clone(),
        email: user.email.clone(),
        seconds: app.clock.now().timestamp(),
        offset_seconds: 0,
    }
}

/// New objects and the updates of refs to them.
pub struct NewObjects<'a> {
    pub repository: &'a OpenRepository,
    pub cached_repository: &'a CachedRepository,
    pub pack: &'a IndexedPack,
    pub updates: Vec<PlannedUpdate>,
    /// The release of the tag that the only update creates.
    pub release: Option<NewRelease<'a>>,
}

/// Stores the pack of new objects and updates the refs, as a push does. Returns the reason if an update is rejected.
pub(crate) async fn apply(app: &App, current_user: &CurrentUser, new: NewObjects<'_>) -> Result<Option<&'static str>> {
    let denied = tag_permissions::find_denied_early(app, new.repository, &new.updates).await?;
    if let Some(reason) = denied.into_iter().flatten().next() {
        return Ok(Some(reason));
    }
    let stored = StoredObjects::store(app, current_user, new).await?;
    let mut transaction = app.database.begin().await?;
    let applied = stored.apply_in(app, &mut transaction).await?;
    if applied.rejection().is_none() {
        commit(transaction).await?;
        applied.update_cache(app).await;
    }
    Ok(applied.rejection())
}

/// New objects whose pack is stored. The refs are not updated yet.
pub(crate) struct StoredObjects<'a> {
    batch: RefUpdateBatch<'a>,
    cached_repository: &'a CachedRepository,
    files: (&'a IndexedPack, PackSizes),
}

impl<'a> StoredObjects<'a> {
    /// Stores the pack, as a push does.
    pub async fn store(app: &App, current_user: &'a CurrentUser, new: NewObjects<'a>) -> Result<Self> {
        let NewObjects { repository, cached_repository, pack, updates, release } = new;
        let origin =
            RefUpdateOrigin { user: Some(current_user.account.id()), channel: current_user.ref_update_channel };
        let intended_push = IntendedPush { repository, updates: &updates, origin, is_atomic: true };
        let stored = store_pack(app, pack, Some(intended_push)).await?;
        let files = (pack, stored.sizes);
        let batch = RefUpdateBatch {
            pack: Some(stored),
            release,
            ..RefUpdateBatch::new(repository, updates, Some(current_user), origin)
        };
        Ok(Self { batch, cached_repository, files })
    }

    /// Updates the refs in a transaction of the caller, who commits it unless an update is rejected.
    pub async fn apply_in(self, app: &App, connection: &mut Connection) -> Result<AppliedObjects<'a>> {
        let Self { batch, cached_repository, files } = self;
        let repository = batch.repository;
        let result = ref_update::apply_in(app, connection, batch).await?;
        Ok(AppliedObjects { result, repository, cached_repository, files })
    }
}

/// New objects whose refs are updated in a transaction that is not committed yet.
pub(crate) struct AppliedObjects<'a> {
    result: RefUpdateResult,
    repository: &'a OpenRepository,
    cached_repository: &'a CachedRepository,
    files: (&'a IndexedPack, PackSizes),
}

impl AppliedObjects<'_> {
    /// Returns the reason if an update is rejected. Then none is made.
    pub fn rejection(&self) -> Option<&'static str> {
        self.result.rejections.iter().flatten().next().copied()
    }

    /// Adds the pack to the local cache, after the transaction is committed. A request that ends by its own timeout here
    /// would report a failure.
    pub async fn update_cache(&self, app: &App) {
        let Self { result, repository, cached_repository, files } = self;
        let update_cache = push::update_local_cache(app, cached_repository, result, Some(*files), repository);
        if timeout(CACHE_UPDATE_TIMEOUT, update_cache).await.is_err() {
            tracing::warn!("refs updated, local cache update took too long");
        }
    }
}

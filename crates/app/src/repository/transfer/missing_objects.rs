//! Copies commits from a fork into the repository of its source project, which has most of their history.

use std::collections::HashSet;

use holdfast_git::index_pack::{self, IndexedPack};
use holdfast_git::new_commit;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::NoProgress;
use holdfast_git::reader::{Kind, Reader};
use holdfast_git::{ObjectId, Quarantine, RefName};
use holdfast_store::Connection;
use holdfast_store::cache::CachedRepository;
use holdfast_store::repository::pack::NewPack;
use holdfast_store::repository::ref_update::RefUpdateOrigin;

use super::push;
use crate::repository::browse::changes::explain_timeout;
use crate::repository::open_repository::OpenRepository;
use crate::repository::pack::store_pack;
use crate::repository::refs::ref_update::{self, RefUpdateBatch, RefUpdateResult};
use crate::repository::{maintenance, object_lookup, objects};
use crate::{Actor, App, Result};

const TIMED_OUT: &str = "Copying the commits of the fork took too long and was canceled";

/// Returns the tip of a branch, if it exists.
pub(crate) fn find_tip(repository: &OpenRepository, branch: &str) -> Option<ObjectId> {
    let name = RefName::branch(branch).ok()?;
    Some(repository.refs.find(name.as_str())?.id)
}

/// The objects of a commit that a repository lacks. Their pack is stored, but the repository does not list it yet.
pub(crate) struct MissingObjects {
    target: OpenRepository,
    pack: IndexedPack,
    stored: NewPack,
    cached_repository: CachedRepository,
    /// The directory of the pack, which is deleted when this is dropped.
    _quarantine: Quarantine,
}

impl MissingObjects {
    /// Packs and stores what the target lacks of a commit of the source, and checks it like a push. The target has
    /// `known_head`, although no ref may reach it. Returns None if a ref of the target reaches the commit.
    pub async fn store(
        app: &App,
        actor: &Actor,
        source: &OpenRepository,
        head: ObjectId,
        target: OpenRepository,
        known_head: Option<ObjectId>,
    ) -> Result<Option<Self>> {
        let wanted = HashSet::from([head]);
        let reachable = object_lookup::filter_reachable(app, &target, wanted, Kind::Commit, &mut None).await?;
        if reachable.contains(&head) {
            return Ok(None);
        }
        maintenance::apply_backpressure(app, &target.project, &mut NoProgress).await?;
        let _permit = app.git_runtime.acquire_push_permit(actor.client()).await;
        let tips: HashSet<ObjectId> = target.refs.tips().chain(known_head).collect();
        let find_known = move |reader: &Reader| {
            let mut known = Vec::new();
            for tip in tips {
                if reader.kind(tip)?.is_some() {
                    known.push(tip);
                }
            }
            Ok(known)
        };
        let known = objects::read(app, source, find_known).await?;
        let cached_source = app.cached_repository(source.project.repository.id, source.refs.generation).await?;
        let cached_repository = app.cached_repository(target.project.repository.id, target.refs.generation).await?;
        let quarantine = app.git_runtime.cache()?.quarantine(Some(&cached_source.bare))?;
        let git = &app.git_runtime.git;
        let explain = |error| explain_timeout(error, TIMED_OUT);
        let pack = new_commit::pack(git, &quarantine, head, &known).await.map_err(explain)?;
        let limits = app.git_runtime.settings.pack_limits;
        index_pack::check(git, quarantine.repository(), &pack, limits).await.map_err(explain)?;
        let stored = store_pack(app, &pack, None).await?;
        Ok(Some(Self { target, pack, stored, cached_repository, _quarantine: quarantine }))
    }

    /// Adds the pack to the repository in a transaction of the caller, who commits it.
    pub async fn add_in(
        &self,
        app: &App,
        connection: &mut Connection,
        origin: RefUpdateOrigin,
    ) -> Result<RefUpdateResult> {
        let batch = RefUpdateBatch {
            pack: Some(self.stored.clone()),
            ..RefUpdateBatch::new(&self.target, Vec::new(), None, origin)
        };
        ref_update::apply_in(app, connection, batch).await
    }

    /// Adds the pack to the local cache, after the transaction is committed.
    pub async fn update_cache(&self, app: &App, result: &RefUpdateResult) {
        let files = Some((&self.pack, self.stored.sizes));
        push::update_local_cache(app, &self.cached_repository, result, files, &self.target).await;
    }
}

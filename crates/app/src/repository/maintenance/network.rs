//! Repacks the packs that the repositories of a fork network share, for all of them at once. Packs that only one
//! repository lists are repacked in [`super::repack`].
//!
//! All of them list the new pack, so no object is stored twice. Packs that only a fork lists are not affected.

use std::collections::HashSet;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_git::index_pack::{IndexedPack, PackIndex};
use holdfast_git::pack_file::PackFile;
use holdfast_git::repack::{self, KeepPacks, Unreachable};
use holdfast_git::{BareRepository, ObjectId, RefTarget};
use holdfast_store::cache::pack_file_stem;
use holdfast_store::commit;
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::{network, repository, retained};

use super::repack::{add_to_cache, ensure_disk_space, ensure_no_object_lost};
use super::{LeaseGuard, PackList, RepackScope, total_bytes};
use crate::repository::open_repository::OpenRepository;
use crate::repository::pack::store_pack;
use crate::{App, Error, Result};

/// Returns the shared packs whose oldest repository is this one. Other shared packs are repacked by their oldest
/// repository.
fn shared_packs(pack_list: &PackList, id: RepositoryId) -> impl Iterator<Item = &Pack> {
    pack_list.packs.iter().filter(move |pack| pack.cruft_since.is_none() && pack_list.shared.get(&pack.id) == Some(&id))
}

pub(super) fn is_due(app: &App, pack_list: &PackList, id: RepositoryId, scope: RepackScope) -> bool {
    let count = shared_packs(pack_list, id).count();
    scope != RepackScope::Geometric
        && count > 1
        && (scope == RepackScope::Full || count as i64 >= app.settings.maintenance.repack_threshold_packs)
}

/// Maximum number of ref log entries, newest first, that are searched for the tips at which forks were created.
const MAX_RECENT_TIPS: i64 = 1000;

/// Merges the shared packs into one, with their unreachable objects: to find these, every fork would have to be walked.
pub(super) async fn repack(app: &App, guard: &LeaseGuard, repository: &OpenRepository) -> Result<()> {
    let id = repository.project.repository.id;
    let pack_list = &PackList::read(app, id).await?;
    let mut old: Vec<&Pack> = shared_packs(pack_list, id).collect();
    // Own packs are included once they are half as large as the shared ones: git uses only one bitmap, that of the
    // shared pack.
    if 2 * total_bytes(pack_list.own()) >= total_bytes(old.iter().copied()) {
        old.extend(pack_list.own());
    }
    let ids: Vec<PackId> = old.iter().map(|pack| pack.id).collect();
    let cached_repository = app.cached_repository(id, pack_list.generation).await?;
    ensure_disk_space(app, total_bytes(old.iter().copied()))?;
    let owners = network::find_repositories_listing(&mut *app.database.connection().await?, &ids).await?;
    let recent = retained::list_recent(&mut *app.database.connection().await?, id, MAX_RECENT_TIPS).await?;
    let tips: HashSet<ObjectId> = repository.refs.tips().chain(recent).collect();
    let cache = app.git_runtime.cache()?;
    let scratch = cache.scratch_repository(&cached_repository, old.iter().copied(), &[])?;
    let indices = old.iter().map(|pack| cache.index_path(&cached_repository, pack)).collect();
    write_tips(scratch.repository().clone(), indices, tips).await?;
    let git = &app.git_runtime.git;
    let new_pack = match repack::pack_reachable(
        git,
        scratch.repository(),
        KeepPacks::None,
        Unreachable::Include,
        scratch.directory(),
    )
    .await
    {
        Ok(made) => {
            if let Some(new_pack) = &made {
                repack::write_commit_graph(git, scratch.repository(), new_pack).await?;
            }
            made
        }
        // The packs refer to objects outside of them, so they are merged without a bitmap.
        Err(holdfast_git::Error::CommandFailed { detail: stderr, .. }) if !old.iter().any(|pack| pack.has_bitmap()) => {
            tracing::info!(
                stderr,
                repository = id.get(),
                "shared packs refer to objects outside of them, merged without a bitmap"
            );
            let names: Vec<String> = old.iter().copied().map(pack_file_stem).collect();
            repack::merge_packs(git, scratch.repository(), &names, &[], scratch.directory()).await?
        }
        Err(error) => return Err(error.into()),
    };
    let Some(new_pack) = new_pack else { return Ok(()) };
    let indices = old.iter().map(|pack| cache.index_path(&cached_repository, pack)).collect();
    ensure_no_object_lost(indices, vec![new_pack.file_path(PackFile::Index)], scratch.directory().join("missing"))
        .await?;
    let listed_pack = replace_shared(app, guard, id, &owners, &ids, &new_pack).await?;
    add_to_cache(app, &cached_repository, &listed_pack, &new_pack).await;
    Ok(())
}

/// Writes a ref for each tip that is in the packs.
async fn write_tips(bare: BareRepository, indices: Vec<std::path::PathBuf>, tips: HashSet<ObjectId>) -> Result<()> {
    let writing = tokio::task::spawn_blocking(move || {
        let indices = indices.into_iter().map(PackIndex::open).collect::<holdfast_git::Result<Vec<_>>>()?;
        let mut present_tips: Vec<ObjectId> =
            tips.into_iter().filter(|id| indices.iter().any(|it| it.contains(*id))).collect();
        present_tips.sort_unstable();
        let names: Vec<String> = present_tips.iter().map(|id| format!("refs/tips/{id}")).collect();
        let refs =
            names.iter().zip(&present_tips).map(|(name, id)| (name.as_str(), RefTarget { id: *id, peeled: None }));
        Ok(bare.write_refs("refs/heads/master", refs)?)
    });
    writing.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

/// Replaces the old packs in the pack lists of all owners, or of none.
async fn replace_shared(
    app: &App,
    guard: &LeaseGuard,
    id: RepositoryId,
    owners: &[RepositoryId],
    old: &[PackId],
    new_files: &IndexedPack,
) -> Result<Pack> {
    let new = store_pack(app, new_files, None).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    repository::lock_all(&mut transaction, owners).await?;
    guard.check(&mut transaction).await?;
    // The row locks keep the owners from being forked until the commit.
    let is_same = network::find_repositories_listing(&mut transaction, old).await? == owners
        && pack::count_listed(&mut transaction, id, old).await? == old.len() as i64;
    if !is_same {
        return Err(Error::Conflict("The pack list was changed by another process during the repack".into()));
    }
    let added = pack::add(&mut transaction, id, &new, now).await?;
    let added = added.ok_or_else(|| Error::Conflict("The repack took too long: its pack has been deleted".into()))?;
    network::replace_packs(&mut transaction, owners, old, added, now).await?;
    commit(transaction).await?;
    Ok(Pack { id: added, checksum: new.checksum, object_key: None, sizes: new.sizes, cruft_since: None })
}

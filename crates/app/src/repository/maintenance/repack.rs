//! Repacks the packs that only one repository lists.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::RefTarget;
use holdfast_git::index_pack::{IndexedPack, PackIndex};
use holdfast_git::pack_file::PackFile;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::repack::{self, KeepPacks, Unreachable};
use holdfast_store::cache::{self, CachedRepository, pack_file_stem};
use holdfast_store::commit;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::pack::{self, NewPack, Pack};
use holdfast_store::repository::repository::{self, BasePack};
use holdfast_store::repository::{network, ref_log};

use super::{LeaseGuard, PackList, total_bytes};
use crate::repository::open_repository::open_repository;
use crate::repository::pack::store_pack;
use crate::{Actor, App, Error, Resource, Result};

/// Merges the small packs into one, with their unreachable objects.
pub(super) async fn geometric(app: &App, guard: &LeaseGuard, id: RepositoryId, pack_list: &PackList) -> Result<()> {
    let tail = pack_list.geometric_tail();
    if tail.len() < 2 {
        return Ok(());
    }
    let tail_ids: Vec<PackId> = tail.iter().map(|pack| pack.id).collect();
    // Cruft packs are not among the others: an object that is in one of them and was pushed again must be in the new
    // pack.
    let others: Vec<&Pack> =
        pack_list.packs.iter().filter(|pack| pack.cruft_since.is_none() && !tail_ids.contains(&pack.id)).collect();
    let cached_repository = app.cached_repository(id, pack_list.generation).await?;
    ensure_disk_space(app, total_bytes(tail.iter().copied()))?;
    let scratch =
        app.git_runtime.cache()?.scratch_repository(&cached_repository, tail.iter().chain(&others).copied(), &[])?;
    let names = |packs: &[&Pack]| packs.iter().copied().map(pack_file_stem).collect::<Vec<_>>();
    let new_pack = repack::merge_packs(
        &app.git_runtime.git,
        scratch.repository(),
        &names(&tail),
        &names(&others),
        scratch.directory(),
    )
    .await?;
    let cache = app.git_runtime.cache()?;
    let indices =
        |packs: &[&Pack]| packs.iter().map(|pack| cache.index_path(&cached_repository, pack)).collect::<Vec<_>>();
    let mut remaining_indices = indices(&others);
    remaining_indices.extend(new_pack.iter().map(|pack| pack.file_path(PackFile::Index)));
    ensure_no_object_lost(indices(&tail), remaining_indices, scratch.directory().join("missing")).await?;
    let base_packs: Vec<PackId> = others.iter().map(|pack| pack.id).collect();
    let new_packs: Vec<_> = new_pack.into_iter().map(|pack| (pack, false)).collect();
    let replacement = PackReplacement { old: &tail_ids, base_packs: &base_packs, full_repack: None, epoch: None };
    commit_replacement(app, guard, id, replacement, &cached_repository, new_packs).await
}

/// Packs all reachable objects into one pack, with a bitmap if no shared packs exist, and moves unreachable objects to
/// a cruft pack.
pub(super) async fn full(app: &App, guard: &LeaseGuard, project: &Project) -> Result<()> {
    let id = project.repository.id;
    ensure_disk_space(app, total_bytes(PackList::read(app, id).await?.own()))?;
    // Starts a new prune epoch: a push that was checked against older refs may need objects that become cruft now, and
    // is checked again.
    let pruning = repository::begin_pruning(&mut *app.database.connection().await?, id).await?;
    let pruning = pruning.ok_or(Error::NotFound(Resource::Project))?;
    // The pack list is read before and after the refs. Only packs of the first list are replaced, since the refs that
    // came with them are known. The second list has all objects that the refs reach.
    let before: HashSet<PackId> = PackList::read(app, id).await?.packs.iter().map(|pack| pack.id).collect();
    let repository = open_repository(app, &Actor::Operator, &ProjectRef::Id(project.id), ProjectAction::Read).await?;
    let pack_list = PackList::read(app, id).await?;
    let own: Vec<&Pack> = pack_list.own().filter(|pack| before.contains(&pack.id)).collect();
    if own.is_empty() {
        return Ok(());
    }
    // A concurrent push may need objects that only the old values of these refs reach.
    let removed_tips =
        ref_log::old_values_since(&mut *app.database.connection().await?, id, pruning.generation).await?;
    let cached_repository = app.cached_repository(id, pack_list.generation).await?;
    let base_packs: Vec<PackId> =
        pack_list.packs.iter().map(|it| it.id).filter(|id| pack_list.shared.contains_key(id)).collect();
    let cache = app.git_runtime.cache()?;
    let scratch = cache.scratch_repository(&cached_repository, &pack_list.packs, &base_packs)?;
    let git = &app.git_runtime.git;
    let names: Vec<String> = removed_tips.iter().map(|id| format!("refs/removed/{id}")).collect();
    let removed_refs =
        names.iter().zip(&removed_tips).map(|(name, id)| (name.as_str(), RefTarget { id: *id, peeled: None }));
    let mut refs: Vec<(&str, RefTarget)> = repository.refs.iter_with_prefix("").chain(removed_refs).collect();
    refs.sort_unstable_by_key(|(name, _)| *name);
    scratch.repository().write_refs(repository.refs.head(), refs.into_iter())?;
    let keep_packs = if base_packs.is_empty() { KeepPacks::None } else { KeepPacks::Exclude };
    let main = repack::pack_reachable(git, scratch.repository(), keep_packs, Unreachable::Exclude, scratch.directory())
        .await?;
    if let (Some(main), KeepPacks::None) = (&main, keep_packs) {
        repack::write_commit_graph(git, scratch.repository(), main).await?;
    }
    let index = |pack: &Pack| cache.index_path(&cached_repository, pack);
    let unreachable_ids = scratch.directory().join("unreached");
    let others =
        pack_list.packs.iter().filter(|pack| pack.cruft_since.is_some() || base_packs.contains(&pack.id)).map(index);
    let mut others: Vec<PathBuf> = others.chain(main.iter().map(|main| main.file_path(PackFile::Index))).collect();
    let own_indices: Vec<PathBuf> = own.iter().copied().map(index).collect();
    let is_base = main.is_some() && keep_packs == KeepPacks::None && removed_tips.is_empty();
    let full_repack = FullRepack { generation: repository.refs.generation, is_base };
    let mut new_packs: Vec<(IndexedPack, bool)> = main.into_iter().map(|main| (main, false)).collect();
    if write_uncovered_ids(own_indices.clone(), others.clone(), unreachable_ids.clone()).await? {
        let cruft = repack::pack_ids(git, scratch.repository(), &unreachable_ids, scratch.directory()).await?;
        others.extend(cruft.iter().map(|cruft| cruft.file_path(PackFile::Index)));
        new_packs.extend(cruft.map(|cruft| (cruft, true)));
        ensure_no_object_lost(own_indices, others, unreachable_ids).await?;
    }
    let own: Vec<PackId> = own.into_iter().map(|pack| pack.id).collect();
    let replacement = PackReplacement {
        old: &own,
        base_packs: &base_packs,
        full_repack: Some(full_repack),
        epoch: Some(pruning.epoch),
    };
    commit_replacement(app, guard, id, replacement, &cached_repository, new_packs).await
}

/// Fails if an object of the old packs is in none of the others.
pub(super) async fn ensure_no_object_lost(old: Vec<PathBuf>, others: Vec<PathBuf>, scratch: PathBuf) -> Result<()> {
    match write_uncovered_ids(old, others, scratch).await? {
        false => Ok(()),
        true => Err(Error::Internal("the new packs lack objects of the old packs".into())),
    }
}

/// Writes the ids of the objects that are in `packs` and in none of `others` to a file. Returns whether there are any.
async fn write_uncovered_ids(packs: Vec<PathBuf>, others: Vec<PathBuf>, file: PathBuf) -> Result<bool> {
    let writing = tokio::task::spawn_blocking(move || {
        let others = others.into_iter().map(PackIndex::open).collect::<holdfast_git::Result<Vec<_>>>()?;
        let mut output = std::io::BufWriter::new(std::fs::File::create(file)?);
        let mut has_uncovered = false;
        for pack in packs {
            for id in PackIndex::open(pack)?.ids() {
                if !others.iter().any(|other| other.contains(id)) {
                    writeln!(output, "{id}")?;
                    has_uncovered = true;
                }
            }
        }
        output.flush()?;
        Ok(has_uncovered)
    });
    writing.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

/// A change of a pack list: the packs to replace, and the conditions for it.
pub(super) struct PackReplacement<'a> {
    pub old: &'a [PackId],
    /// Packs that the new ones rely on, and that must still be listed.
    pub base_packs: &'a [PackId],
    /// Set for a full repack.
    pub full_repack: Option<FullRepack>,
    /// The prune epoch in which the repack began, if it makes objects cruft or deletes them. It must not have changed.
    pub epoch: Option<i64>,
}

/// What is recorded of a full repack.
#[derive(Clone, Copy)]
pub(super) struct FullRepack {
    /// The generation of the refs that were packed.
    pub generation: i64,
    /// Whether the first new pack has exactly the objects that these refs reach.
    pub is_base: bool,
}

/// Stores the new packs and replaces the old ones in the pack list. The flag of a new pack marks a cruft pack. Returns
/// a conflict if an old or a base pack is no longer listed, an old pack has become shared, the prune epoch has changed,
/// or the lease was lost.
pub(super) async fn commit_replacement(
    app: &App,
    guard: &LeaseGuard,
    id: RepositoryId,
    replacement: PackReplacement<'_>,
    cached_repository: &CachedRepository,
    new_packs: Vec<(IndexedPack, bool)>,
) -> Result<()> {
    let mut new: Vec<NewPack> = Vec::with_capacity(new_packs.len());
    for (pack, is_cruft) in &new_packs {
        new.push(NewPack { is_cruft: *is_cruft, ..store_pack(app, pack, None).await? });
    }
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let locked = repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::Project))?;
    guard.check(&mut transaction).await?;
    let has_all_base_packs =
        pack::count_listed(&mut transaction, id, replacement.base_packs).await? == replacement.base_packs.len() as i64;
    // A fork that was created meanwhile keeps the old packs, so the objects would be stored twice.
    let is_own = network::find_repositories_listing(&mut transaction, replacement.old).await? == [id];
    let is_same_epoch = replacement.epoch.is_none_or(|epoch| epoch == locked.prune_epoch);
    if !has_all_base_packs
        || !is_own
        || !is_same_epoch
        || pack::unlist(&mut transaction, id, replacement.old, now).await? != replacement.old.len() as u64
    {
        return Err(Error::Conflict("The pack list was changed by another process during the repack".into()));
    }
    let mut added = Vec::with_capacity(new.len());
    for new in &new {
        let id = pack::add(&mut transaction, id, new, now).await?;
        added.push(id.ok_or_else(|| Error::Conflict("The repack took too long: its pack has been deleted".into()))?);
    }
    let generation = pack::increment_generation(&mut transaction, id).await?;
    if let Some(full_repack) = replacement.full_repack {
        let pack = added.first().copied().filter(|_| full_repack.is_base);
        let base = pack.map(|pack| BasePack { pack, generation: full_repack.generation });
        repository::set_repacked(&mut transaction, id, generation, base, now).await?;
    }
    commit(transaction).await?;
    for ((files, _), (id, new)) in new_packs.iter().zip(added.into_iter().zip(new)) {
        let pack = Pack { id, checksum: new.checksum, object_key: None, sizes: new.sizes, cruft_since: None };
        add_to_cache(app, cached_repository, &pack, files).await;
    }
    Ok(())
}

/// Adds a new pack to the local cache, so that this node need not download it.
pub(super) async fn add_to_cache(app: &App, cached_repository: &CachedRepository, pack: &Pack, files: &IndexedPack) {
    let add = async { app.git_runtime.cache()?.add_pack(cached_repository, pack, files).await.map_err(Error::from) };
    if let Err(error) = add.await {
        tracing::warn!(%error, "new pack could not be added to the local cache");
    }
}

/// Fails if the disk has too little free space for the new packs and for the delta windows that git spills.
pub(super) fn ensure_disk_space(app: &App, bytes: u64) -> Result<()> {
    let cache = app.git_runtime.cache()?;
    let free_bytes = cache.free_disk_bytes().map_err(cache::Error::Io)?;
    if free_bytes < 2 * bytes {
        let text =
            format!("repacking {bytes} bytes needs twice as much free disk space in {}", cache.directory().display());
        return Err(Error::Internal(text.into()));
    }
    Ok(())
}

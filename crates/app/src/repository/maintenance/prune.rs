//! Deletes objects that have been unreachable for longer than the grace period.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use holdfast_domain::ids::PackId;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::index_pack::{IndexedPack, PackIndex};
use holdfast_git::pack_file::PackFile;
use holdfast_git::{ObjectId, reachability, repack};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::pack::Pack;
use holdfast_store::repository::{repository, retained};

use super::repack::{PackReplacement, commit_replacement};
use super::{LeaseGuard, PackList};
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Result};

/// Prunes the cruft packs that are older than the grace period. Objects that are still needed are moved to a new pack:
/// reachable ones, old values of refs that can be restored, and commits of pipelines.
pub(super) async fn prune(app: &App, guard: &LeaseGuard, project: &Project) -> Result<()> {
    let id = project.repository.id;
    let settings = app.settings.maintenance;
    let now = app.clock.now();
    let is_old = |pack: &Pack| pack.cruft_since.is_some_and(|since| since <= now - settings.prune_after);
    if !PackList::read(app, id).await?.packs.iter().any(is_old) {
        return Ok(());
    }
    // Starts a new prune epoch: pushes that were checked before it are checked again.
    let pruning = repository::begin_pruning(&mut *app.database.connection().await?, id).await?;
    let Some(pruning) = pruning else { return Ok(()) };
    let repository = open_repository(app, &Actor::Operator, &ProjectRef::Id(project.id), ProjectAction::Read).await?;
    let pack_list = PackList::read(app, id).await?;
    let (old, others): (Vec<&Pack>, Vec<&Pack>) = pack_list.packs.iter().partition(|pack| is_old(pack));
    let cached_repository = app.cached_repository(id, pack_list.generation).await?;
    // The margin is for nodes with a slow clock that restore a ref at the last moment.
    let since = now - settings.ref_restore_period - settings.ref_restore_period / 30;
    let mut roots = retained::list_roots(&mut *app.database.connection().await?, id, since).await?;
    let cache = app.git_runtime.cache()?;
    let scratch = cache.scratch_repository(&cached_repository, &pack_list.packs, &[])?;
    let indices =
        |packs: &[&Pack]| packs.iter().map(|pack| cache.index_path(&cached_repository, pack)).collect::<Vec<_>>();
    let (old_indices, other_indices) = (indices(&old), indices(&others));
    let prepare = tokio::task::spawn_blocking(move || {
        let open = |paths: Vec<_>| paths.into_iter().map(PackIndex::open).collect::<holdfast_git::Result<Vec<_>>>();
        let (old, others): (Vec<PackIndex>, Vec<PackIndex>) = (open(old_indices)?, open(other_indices)?);
        // Roots that were pruned earlier are left out. Tips of refs are not: if one is missing, the prune stops.
        roots.retain(|&root| old.iter().chain(&others).any(|index| index.contains(root)));
        Ok::<_, Error>((old, others, roots))
    });
    let (old_indices, other_indices, roots) = prepare.await.map_err(|panicked| Error::Internal(panicked.into()))??;
    let needed = scratch.directory().join("needed");
    let mut output = BufWriter::new(File::create(&needed)?);
    let git = &app.git_runtime.git;
    let mut lines = 0;
    let mut walk = async |roots: Vec<ObjectId>| {
        let mut outcome = Ok(false);
        let record_needed = |id: ObjectId| {
            let is_in = |indices: &[PackIndex]| indices.iter().any(|index| index.contains(id));
            if is_in(&old_indices) && !is_in(&other_indices) {
                outcome = writeln!(output, "{id}").map(|()| true);
                lines += 1;
            }
            if outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reachability::for_each_reachable(git, scratch.repository(), roots.into_iter(), record_needed).await?;
        Ok::<_, Error>(outcome?)
    };
    let walks = async {
        let has_reachable = walk(repository.refs.tips().collect()).await?;
        Ok::<_, Error>((has_reachable, walk(roots).await?))
    };
    let (has_reachable, has_retained) = match walks.await {
        // Nothing more is deleted from a repository that already lacks objects.
        Err(Error::Git(holdfast_git::Error::CommandFailed { detail: stderr, .. })) => {
            tracing::error!(stderr, repository = id.get(), "repository is missing objects, pruning skipped");
            return Ok(());
        }
        result => result?,
    };
    output.flush()?;
    let has_needed_objects = has_reachable || has_retained;
    let kept_pack = if has_needed_objects {
        repack::pack_ids(git, scratch.repository(), &needed, scratch.directory()).await?
    } else {
        None
    };
    if has_needed_objects {
        ensure_objects_kept(needed, lines, kept_pack.clone()).await?;
    }
    let old: Vec<PackId> = old.iter().map(|pack| pack.id).collect();
    let new_packs = kept_pack.into_iter().map(|pack| (pack, !has_reachable)).collect();
    tracing::info!(repository = id.get(), packs = old.len(), "unreachable objects pruned");
    commit_replacement(
        app,
        guard,
        id,
        PackReplacement { old: &old, base_packs: &[], full_repack: None, epoch: Some(pruning.epoch) },
        &cached_repository,
        new_packs,
    )
    .await
}

/// Checks that the new pack has all objects that are still needed, since pruned objects cannot be restored.
async fn ensure_objects_kept(needed: PathBuf, lines: usize, kept_pack: Option<IndexedPack>) -> Result<()> {
    let check = tokio::task::spawn_blocking(move || {
        let index = kept_pack.map(|pack| PackIndex::open(pack.file_path(PackFile::Index))).transpose()?;
        let mut found = 0;
        for line in BufReader::new(File::open(needed)?).lines() {
            let id = ObjectId::from_hex(line?.as_bytes()).ok();
            found += usize::from(id.is_some_and(|id| index.as_ref().is_some_and(|index| index.contains(id))));
        }
        Ok::<_, Error>(found == lines)
    });
    match check.await.map_err(|panicked| Error::Internal(panicked.into()))?? {
        true => Ok(()),
        false => Err(Error::Internal("the pack written by the prune lacks objects that are still needed".into())),
    }
}

//! Removing for good what no ref has led to for long.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use holdfast_domain::ids::PackId;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::index_pack::{Index, IndexedPack};
use holdfast_git::{ObjectId, reachability, repack};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::pack::Pack;
use holdfast_store::repository::{repository, retained};

use super::repack::{Swap, replace};
use super::{Held, Listing};
use crate::repository::fetch;
use crate::{Actor, App, Error, Result};

/// Packs that were set apart long enough ago go. What is still needed of them stays set apart: what can be brought back,
/// and what pipelines are about.
pub(super) async fn prune(app: &App, held: &Held, project: &Project) -> Result<()> {
    let id = project.repository.id;
    let settings = app.settings.maintenance;
    let now = app.clock.now();
    let is_old = |pack: &Pack| pack.cruft_since.is_some_and(|since| since <= now - settings.prune_after);
    if !Listing::read(app, id).await?.packs.iter().any(is_old) {
        return Ok(());
    }
    // Whoever was told before that something is there is checked again.
    let pruning = repository::begin_pruning(&mut *app.database.connection().await?, id).await?;
    let Some(pruning) = pruning else { return Ok(()) };
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(project.id), ProjectAction::Read).await?;
    let listing = Listing::read(app, id).await?;
    let (old, others): (Vec<&Pack>, Vec<&Pack>) = listing.packs.iter().partition(|pack| is_old(pack));
    let lease = app.lease(id, listing.generation).await?;
    // The clock of who brings something back at the last moment may be behind.
    let since = now - settings.undo - settings.undo / 30;
    let mut roots = retained::roots(&mut *app.database.connection().await?, id, since).await?;
    let cache = app.engine.cache()?;
    let copy = cache.copy(&lease, &listing.packs, &[])?;
    let indices = |packs: &[&Pack]| packs.iter().map(|pack| cache.index(&lease, pack)).collect::<Vec<_>>();
    let (old_indices, other_indices) = (indices(&old), indices(&others));
    let prepare = tokio::task::spawn_blocking(move || {
        let open = |paths: Vec<_>| paths.into_iter().map(Index::open).collect::<holdfast_git::Result<Vec<_>>>();
        let (old, others): (Vec<Index>, Vec<Index>) = (open(old_indices)?, open(other_indices)?);
        // Of what was removed earlier nothing can be kept. Of what refs lead to nothing may be missing.
        roots.retain(|&root| old.iter().chain(&others).any(|index| index.contains(root)));
        Ok::<_, Error>((old, others, roots))
    });
    let (old_indices, other_indices, roots) = prepare.await.map_err(|panicked| Error::Internal(panicked.into()))??;
    let needed = copy.directory().join("needed");
    let mut output = BufWriter::new(File::create(&needed)?);
    let git = &app.engine.git;
    let mut lines = 0;
    let mut walk = async |roots: Vec<ObjectId>| {
        let mut outcome = Ok(false);
        let look = |id: ObjectId| {
            let is_in = |indices: &[Index]| indices.iter().any(|index| index.contains(id));
            if is_in(&old_indices) && !is_in(&other_indices) {
                outcome = writeln!(output, "{id}").map(|()| true);
                lines += 1;
            }
            if outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reachability::each(git, copy.bare(), roots.into_iter(), look).await?;
        Ok::<_, Error>(outcome?)
    };
    let walks = async {
        let is_reached = walk(opened.refs.tips().collect()).await?;
        Ok::<_, Error>((is_reached, walk(roots).await?))
    };
    let (is_reached, is_retained) = match walks.await {
        // Where something lacks already, nothing more is removed.
        Err(Error::Git(holdfast_git::Error::Failed { said, .. })) => {
            tracing::error!(said, repository = id.get(), "a repository lacks objects; nothing of it is pruned");
            return Ok(());
        }
        walked => walked?,
    };
    output.flush()?;
    let is_any = is_reached || is_retained;
    let kept = if is_any { repack::of_ids(git, copy.bare(), &needed, copy.directory()).await? } else { None };
    if is_any {
        check_kept(needed, lines, kept.clone()).await?;
    }
    let old: Vec<PackId> = old.iter().map(|pack| pack.id).collect();
    let made = kept.into_iter().map(|pack| (pack, !is_reached)).collect();
    tracing::info!(repository = id.get(), packs = old.len(), "objects that no ref led to are removed");
    replace(app, held, id, Swap { old: &old, kept: &[], whole: None, epoch: Some(pruning.epoch) }, &lease, made).await
}

/// What goes now comes back no more: each of these lines must be there, and in what was packed.
async fn check_kept(needed: PathBuf, lines: usize, kept: Option<IndexedPack>) -> Result<()> {
    let check = tokio::task::spawn_blocking(move || {
        let index = kept.map(|kept| Index::open(kept.file("idx"))).transpose()?;
        let mut found = 0;
        for line in BufReader::new(File::open(needed)?).lines() {
            let id = ObjectId::from_hex(line?.as_bytes()).ok();
            found += usize::from(id.is_some_and(|id| index.as_ref().is_some_and(|index| index.contains(id))));
        }
        Ok::<_, Error>(found == lines)
    });
    match check.await.map_err(|panicked| Error::Internal(panicked.into()))?? {
        true => Ok(()),
        false => Err(Error::Internal("objects are missing in what was kept".into())),
    }
}

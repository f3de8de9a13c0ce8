//! Making few packs out of many, so that fetching stays quick.

use holdfast_domain::ids::PackId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::repack;
use holdfast_store::commit;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::repository;
use holdfast_store::worker::compaction;

use super::fetch::Opened;
use super::pack::store;
use crate::{Actor, App, Error, Result, Thing, access};

/// After a push; twice for the same repository is once. Not in the push's own transaction: queueing wakes workers, for
/// which all commits of the database would wait in line.
pub(super) async fn request_if_due(app: &App, project: &Project) -> Result<()> {
    let mut connection = app.database.connection().await?;
    let count = pack::count(&mut connection, project.repository.id).await?;
    let at = app.engine.settings.compact_at;
    if count >= at {
        compaction::enqueue(&mut connection, project.id).await?;
    }
    Ok(())
}

/// What was done, for who asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    pub before: usize,
    pub after: usize,
}

/// How much of a repository is packed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What is small: a pack that is larger than all smaller ones together stays as it is. So a byte is written again only
    /// when the repository has doubled.
    Small,
    /// All that can be.
    Whole,
}

/// Replaces packs that belong to this repository alone by one. Nothing is left out, reachable or not. Packs that forks
/// use, too, stay as they are. What is pushed meanwhile is not touched: it is not on the list that was read.
pub async fn compact(app: &App, actor: &Actor, project: &ProjectRef, extent: Extent) -> Result<Compacted> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let opened = super::fetch::open(app, actor, project, ProjectAction::Read).await?;
    let id = opened.project.repository.id;
    let (generation, packs, shared) = {
        let mut connection = app.database.connection().await?;
        let (generation, packs) = pack::list(&mut connection, id).await?.ok_or(Error::NotFound(Thing::Project))?;
        (generation, packs, pack::shared(&mut connection, id).await?)
    };
    let mut own: Vec<&Pack> = packs.iter().filter(|pack| !shared.contains(&pack.id)).collect();
    if extent == Extent::Small {
        leave_large(&mut own);
    }
    let own: Vec<PackId> = own.into_iter().map(|pack| pack.id).collect();
    let kept: Vec<PackId> = packs.iter().map(|pack| pack.id).filter(|id| !own.contains(id)).collect();
    let unchanged = Compacted { before: packs.len(), after: packs.len() };
    // Only a pack that holds everything has a bitmap.
    let is_compact = own.len() < 2 && (!kept.is_empty() || packs.iter().all(|it| it.sizes[3] > 0));
    if is_compact {
        return Ok(unchanged);
    }
    let lease = app.lease(id, generation).await?;
    let cache = app.engine.cache()?;
    let copy = cache.copy(&lease, &packs, &kept)?;
    copy.bare().write_refs(opened.refs.head(), opened.refs.with_prefix(""))?;
    let made = repack::pack_all(&app.engine.git, copy.bare(), !kept.is_empty(), copy.directory()).await?;
    let Some(made) = made else { return Ok(unchanged) };
    let stored = store(app, &made).await?;
    let new = swap(app, &opened, &own, &kept, &stored).await?;
    let new = Pack { id: new, checksum: made.checksum.clone(), object_key: None, sizes: stored.sizes };
    if let Err(error) = cache.keep(&lease, &new, &made).await {
        tracing::warn!(%error, "what was compacted must be fetched again");
    }
    Ok(Compacted { before: packs.len(), after: packs.len() - own.len() + 1 })
}

/// From the largest on, as long as one is larger than all that are smaller together.
fn leave_large(own: &mut Vec<&Pack>) {
    own.sort_by_key(|pack| pack.bytes());
    while let Some((largest, smaller)) = own.split_last()
        && largest.bytes() > smaller.iter().map(|pack| pack.bytes()).sum()
    {
        own.pop();
    }
}

/// Valid only if all that it replaces, and all that it builds on, is still listed.
async fn swap(app: &App, opened: &Opened, own: &[PackId], kept: &[PackId], new: &pack::NewPack) -> Result<PackId> {
    let id = opened.project.repository.id;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Project))?;
    let all_kept = pack::count_of(&mut transaction, id, kept).await? == kept.len() as i64;
    if !all_kept || pack::remove(&mut transaction, id, own, now).await? != own.len() as u64 {
        return Err(Error::Conflict("Another compaction was quicker".into()));
    }
    let added = pack::add(&mut transaction, id, new, now).await?;
    let added = added.ok_or_else(|| Error::Conflict("The compaction took too long".into()))?;
    pack::bump(&mut transaction, id).await?;
    commit(transaction).await?;
    Ok(added)
}

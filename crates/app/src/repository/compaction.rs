//! Making few packs out of many, so that fetching stays quick.

use holdfast_domain::ids::PackId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::repack;
use holdfast_store::commit;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::{pack, repository};
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
    if count >= at && count % at == 0 {
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

/// Replaces the packs that belong to this repository alone by one. Nothing is left out, reachable or not. Packs that
/// forks use, too, stay as they are. What is pushed meanwhile is not touched: it is not on the list that was read.
pub async fn compact(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Compacted> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let opened = super::fetch::open(app, actor, project, ProjectAction::Read).await?;
    let id = opened.project.repository.id;
    let (generation, packs, shared) = {
        let mut connection = app.database.connection().await?;
        let (generation, packs) = pack::list(&mut connection, id).await?.ok_or(Error::NotFound(Thing::Project))?;
        (generation, packs, pack::shared(&mut connection, id).await?)
    };
    let own: Vec<PackId> = packs.iter().map(|pack| pack.id).filter(|id| !shared.contains(id)).collect();
    let unchanged = Compacted { before: packs.len(), after: packs.len() };
    // Only a pack that holds everything has a bitmap.
    let is_compact = own.len() < 2 && (!shared.is_empty() || packs.iter().all(|it| it.sizes[3] > 0));
    if is_compact {
        return Ok(unchanged);
    }
    let lease = app.lease(id, generation).await?;
    let copy = app.engine.cache()?.copy(&lease, &packs, &shared)?;
    copy.bare().write_refs(opened.refs.head(), opened.refs.with_prefix(""))?;
    let made = repack::pack_all(&app.engine.git, copy.bare(), !shared.is_empty(), copy.directory()).await?;
    let Some(made) = made else { return Ok(unchanged) };
    swap(app, &opened, &own, &store(app, &made).await?).await?;
    Ok(Compacted { before: packs.len(), after: packs.len() - own.len() + 1 })
}

/// Valid only if all that it replaces is still listed.
async fn swap(app: &App, opened: &Opened, own: &[PackId], new: &pack::NewPack) -> Result<()> {
    let id = opened.project.repository.id;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Project))?;
    if pack::remove(&mut transaction, id, own, now).await? != own.len() as u64 {
        return Err(Error::Conflict("Another compaction was quicker".into()));
    }
    let added = pack::add(&mut transaction, id, new, now).await?;
    added.ok_or_else(|| Error::Conflict("The compaction took too long".into()))?;
    pack::bump(&mut transaction, id).await?;
    commit(transaction).await?;
    Ok(())
}

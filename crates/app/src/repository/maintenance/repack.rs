//! Making few packs of those that belong to one repository alone.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::Target;
use holdfast_git::index_pack::{Index, IndexedPack};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::repack::{self, Kept, Unreachable};
use holdfast_store::cache::{self, Lease, stem};
use holdfast_store::commit;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::pack::{self, NewPack, Pack};
use holdfast_store::repository::repository::{self, Base};
use holdfast_store::repository::{network, ref_log};

use super::{Held, Listing, bytes};
use crate::repository::fetch;
use crate::repository::pack::store;
use crate::{Actor, App, Error, Result, Thing};

/// Makes one of the small packs, with all that is in them.
pub(super) async fn small(app: &App, held: &Held, id: RepositoryId, listing: &Listing) -> Result<()> {
    let small = listing.small();
    if small.len() < 2 {
        return Ok(());
    }
    let small_ids: Vec<PackId> = small.iter().map(|pack| pack.id).collect();
    // Not what is set apart: an object that is there, and was pushed again, is needed.
    let others: Vec<&Pack> =
        listing.packs.iter().filter(|pack| pack.cruft_since.is_none() && !small_ids.contains(&pack.id)).collect();
    let lease = app.lease(id, listing.generation).await?;
    check_room(app, bytes(small.iter().copied()))?;
    let copy = app.engine.cache()?.copy(&lease, small.iter().chain(&others).copied(), &[])?;
    let names = |packs: &[&Pack]| packs.iter().copied().map(stem).collect::<Vec<_>>();
    let made =
        repack::of_packs(&app.engine.git, copy.bare(), &names(&small), &names(&others), copy.directory()).await?;
    let cache = app.engine.cache()?;
    let indices = |packs: &[&Pack]| packs.iter().map(|pack| cache.index(&lease, pack)).collect::<Vec<_>>();
    let mut stay = indices(&others);
    stay.extend(made.iter().map(|made| made.file("idx")));
    check_complete(indices(&small), stay, copy.directory().join("missing")).await?;
    let kept: Vec<PackId> = others.iter().map(|pack| pack.id).collect();
    let made: Vec<_> = made.into_iter().map(|pack| (pack, false)).collect();
    let swap = Swap { old: &small_ids, kept: &kept, whole: None, epoch: None };
    replace(app, held, id, swap, &lease, made).await
}

/// Makes one pack of all that refs lead to, which gets a bitmap if it lacks nothing, and sets apart what they do not.
pub(super) async fn whole(app: &App, held: &Held, project: &Project) -> Result<()> {
    let id = project.repository.id;
    check_room(app, bytes(Listing::read(app, id).await?.own()))?;
    // A push that was checked against older refs may lean on what is set apart now, and is checked again.
    let pruning = repository::begin_pruning(&mut *app.database.connection().await?, id).await?;
    let pruning = pruning.ok_or(Error::NotFound(Thing::Project))?;
    // Only packs of before the refs are replaced, so that all that came with them is followed; and all that the refs lead to
    // is in packs of after them.
    let before: HashSet<PackId> = Listing::read(app, id).await?.packs.iter().map(|pack| pack.id).collect();
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(project.id), ProjectAction::Read).await?;
    let listing = Listing::read(app, id).await?;
    let own: Vec<&Pack> = listing.own().filter(|pack| before.contains(&pack.id)).collect();
    if own.is_empty() {
        return Ok(());
    }
    // What refs have left since may be what a push leans on that saw them before.
    let left = ref_log::left_since(&mut *app.database.connection().await?, id, pruning.generation).await?;
    let lease = app.lease(id, listing.generation).await?;
    let kept: Vec<PackId> = listing.packs.iter().map(|it| it.id).filter(|id| listing.shared.contains_key(id)).collect();
    let cache = app.engine.cache()?;
    let copy = cache.copy(&lease, &listing.packs, &kept)?;
    let git = &app.engine.git;
    let names: Vec<String> = left.iter().map(|id| format!("refs/left/{id}")).collect();
    let left_refs = names.iter().zip(&left).map(|(name, id)| (name.as_str(), Target { id: *id, peeled: None }));
    let mut refs: Vec<(&str, Target)> = opened.refs.with_prefix("").chain(left_refs).collect();
    refs.sort_unstable_by_key(|(name, _)| *name);
    copy.bare().write_refs(opened.refs.head(), refs.into_iter())?;
    let keeps = if kept.is_empty() { Kept::Nothing } else { Kept::LeftOut };
    let main = repack::by_refs(git, copy.bare(), keeps, Unreachable::LeftOut, copy.directory()).await?;
    if let (Some(main), Kept::Nothing) = (&main, keeps) {
        repack::write_graph(git, copy.bare(), main).await?;
    }
    let index = |pack: &Pack| cache.index(&lease, pack);
    let unreached = copy.directory().join("unreached");
    let others = listing.packs.iter().filter(|pack| pack.cruft_since.is_some() || kept.contains(&pack.id)).map(index);
    let mut others: Vec<PathBuf> = others.chain(main.iter().map(|main| main.file("idx"))).collect();
    let own_indices: Vec<PathBuf> = own.iter().copied().map(index).collect();
    let is_base = main.is_some() && keeps == Kept::Nothing && left.is_empty();
    let whole = Whole { generation: opened.refs.generation, is_base };
    let mut made: Vec<(IndexedPack, bool)> = main.into_iter().map(|main| (main, false)).collect();
    if write_missing(own_indices.clone(), others.clone(), unreached.clone()).await? {
        let cruft = repack::of_ids(git, copy.bare(), &unreached, copy.directory()).await?;
        others.extend(cruft.iter().map(|cruft| cruft.file("idx")));
        made.extend(cruft.map(|cruft| (cruft, true)));
        check_complete(own_indices, others, unreached).await?;
    }
    let own: Vec<PackId> = own.into_iter().map(|pack| pack.id).collect();
    let swap = Swap { old: &own, kept: &kept, whole: Some(whole), epoch: Some(pruning.epoch) };
    replace(app, held, id, swap, &lease, made).await
}

/// Nothing may be in packs that go which is in none that stay or come.
pub(super) async fn check_complete(old: Vec<PathBuf>, others: Vec<PathBuf>, scratch: PathBuf) -> Result<()> {
    match write_missing(old, others, scratch).await? {
        false => Ok(()),
        true => Err(Error::Internal("objects are missing in what was packed".into())),
    }
}

/// The ids of what is in some packs and in none of the others; whether there are any.
async fn write_missing(packs: Vec<PathBuf>, others: Vec<PathBuf>, file: PathBuf) -> Result<bool> {
    let writing = tokio::task::spawn_blocking(move || {
        let others = others.into_iter().map(Index::open).collect::<holdfast_git::Result<Vec<_>>>()?;
        let mut output = std::io::BufWriter::new(std::fs::File::create(file)?);
        let mut is_any = false;
        for pack in packs {
            for id in Index::open(pack)?.ids() {
                if !others.iter().any(|other| other.contains(id)) {
                    writeln!(output, "{id}")?;
                    is_any = true;
                }
            }
        }
        output.flush()?;
        Ok(is_any)
    });
    writing.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

/// What takes the place of what.
pub(super) struct Swap<'a> {
    pub old: &'a [PackId],
    /// What the new packs build on.
    pub kept: &'a [PackId],
    /// Set if this is all of it.
    pub whole: Option<Whole>,
    /// That of when it began, where what is set apart or removed must not be wanted again meanwhile.
    pub epoch: Option<i64>,
}

/// All of a repository, packed anew.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    /// Of the refs that were followed.
    pub generation: i64,
    /// Whether the first of the new packs has all that they led to.
    pub is_base: bool,
}

/// Valid only if all that it replaces, and all that it builds on, is still listed, and nobody else has been given the right
/// to do the same. New packs come with whether refs do not lead to what is in them.
pub(super) async fn replace(
    app: &App,
    held: &Held,
    id: RepositoryId,
    swap: Swap<'_>,
    lease: &Lease,
    made: Vec<(IndexedPack, bool)>,
) -> Result<()> {
    let mut new: Vec<NewPack> = Vec::with_capacity(made.len());
    for (pack, is_cruft) in &made {
        new.push(NewPack { is_cruft: *is_cruft, ..store(app, pack, None).await? });
    }
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let locked = repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Project))?;
    held.check(&mut transaction).await?;
    let all_kept = pack::count_of(&mut transaction, id, swap.kept).await? == swap.kept.len() as i64;
    // What was forked meanwhile would have two copies.
    let is_own = network::owners(&mut transaction, swap.old).await? == [id];
    let is_same = swap.epoch.is_none_or(|epoch| epoch == locked.prune_epoch);
    if !all_kept
        || !is_own
        || !is_same
        || pack::remove(&mut transaction, id, swap.old, now).await? != swap.old.len() as u64
    {
        return Err(Error::Conflict("The packs were changed by somebody else".into()));
    }
    let mut added = Vec::with_capacity(new.len());
    for new in &new {
        let id = pack::add(&mut transaction, id, new, now).await?;
        added.push(id.ok_or_else(|| Error::Conflict("Packing took too long".into()))?);
    }
    let generation = pack::bump(&mut transaction, id).await?;
    if let Some(whole) = swap.whole {
        let pack = added.first().copied().filter(|_| whole.is_base);
        let base = pack.map(|pack| Base { pack, generation: whole.generation });
        repository::set_repacked(&mut transaction, id, generation, base, now).await?;
    }
    commit(transaction).await?;
    for ((files, _), (id, new)) in made.iter().zip(added.into_iter().zip(new)) {
        let pack = Pack { id, checksum: new.checksum, object_key: None, sizes: new.sizes, cruft_since: None };
        keep(app, lease, &pack, files).await;
    }
    Ok(())
}

/// So that this node need not fetch what it has made itself.
pub(super) async fn keep(app: &App, lease: &Lease, pack: &Pack, files: &IndexedPack) {
    let keep = async { app.engine.cache()?.keep(lease, pack, files).await.map_err(Error::from) };
    if let Err(error) = keep.await {
        tracing::warn!(%error, "what was packed must be fetched again");
    }
}

/// What is written beside what is there must find its place: the packs, and the delta windows that git spills.
pub(super) fn check_room(app: &App, bytes: u64) -> Result<()> {
    let cache = app.engine.cache()?;
    let room = cache.room().map_err(cache::Error::Io)?;
    if room < 2 * bytes {
        let text = format!("packing {bytes} bytes anew needs twice as much room below {}", cache.directory().display());
        return Err(Error::Internal(text.into()));
    }
    Ok(())
}

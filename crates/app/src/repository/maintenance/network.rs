//! Making few packs of those that a repository and its forks share, for all of them at once. No fork gets a copy of its
//! own, and what only a fork has stays its own.

use std::collections::HashSet;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_git::index_pack::{Index, IndexedPack};
use holdfast_git::repack::{self, Kept, Unreachable};
use holdfast_git::{Bare, ObjectId, Target};
use holdfast_store::cache::stem;
use holdfast_store::commit;
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::{network, repository, retained};

use super::repack::{check_complete, check_room, keep};
use super::{Extent, Held, Listing, bytes};
use crate::repository::fetch::Opened;
use crate::repository::pack::store;
use crate::{App, Error, Result};

/// Those that this repository shared first. Those of others are their affair.
fn shared(listing: &Listing, id: RepositoryId) -> impl Iterator<Item = &Pack> {
    listing.packs.iter().filter(move |pack| pack.cruft_since.is_none() && listing.shared.get(&pack.id) == Some(&id))
}

pub(super) fn is_due(app: &App, listing: &Listing, id: RepositoryId, extent: Extent) -> bool {
    let count = shared(listing, id).count();
    extent != Extent::Small && count > 1 && (extent == Extent::Whole || count as i64 >= app.engine.settings.compact_at)
}

/// Where forks began is written in the log at most so far back.
const RECENT: i64 = 1000;

/// All that is in them goes into one, whether refs lead to it or not: to find out, every fork would have to be walked
/// through.
pub(super) async fn repack(app: &App, held: &Held, opened: &Opened) -> Result<()> {
    let id = opened.project.repository.id;
    let listing = &Listing::read(app, id).await?;
    let mut old: Vec<&Pack> = shared(listing, id).collect();
    // What has been pushed since the last fork, once it is much: the one bitmap that git uses is that of the shared pack.
    if 2 * bytes(listing.own()) >= bytes(old.iter().copied()) {
        old.extend(listing.own());
    }
    let ids: Vec<PackId> = old.iter().map(|pack| pack.id).collect();
    let lease = app.lease(id, listing.generation).await?;
    check_room(app, bytes(old.iter().copied()))?;
    let owners = network::owners(&mut *app.database.connection().await?, &ids).await?;
    let recent = retained::recent(&mut *app.database.connection().await?, id, RECENT).await?;
    let tips: HashSet<ObjectId> = opened.refs.tips().chain(recent).collect();
    let cache = app.engine.cache()?;
    let copy = cache.copy(&lease, old.iter().copied(), &[])?;
    let indices = old.iter().map(|pack| cache.index(&lease, pack)).collect();
    write_tips(copy.bare().clone(), indices, tips).await?;
    let git = &app.engine.git;
    let made = match repack::by_refs(git, copy.bare(), Kept::Nothing, Unreachable::Included, copy.directory()).await {
        Ok(made) => {
            if let Some(made) = &made {
                repack::write_graph(git, copy.bare(), made).await?;
            }
            made
        }
        // Something is elsewhere: then it is one pack, without a bitmap.
        Err(holdfast_git::Error::Failed { said, .. }) if !old.iter().any(|pack| pack.has_bitmap()) => {
            tracing::info!(said, repository = id.get(), "shared packs are not closed");
            let names: Vec<String> = old.iter().copied().map(stem).collect();
            repack::of_packs(git, copy.bare(), &names, &[], copy.directory()).await?
        }
        Err(error) => return Err(error.into()),
    };
    let Some(made) = made else { return Ok(()) };
    let indices = old.iter().map(|pack| cache.index(&lease, pack)).collect();
    check_complete(indices, vec![made.file("idx")], copy.directory().join("missing")).await?;
    let new = swap(app, held, id, &owners, &ids, &made).await?;
    keep(app, &lease, &new, &made).await;
    Ok(())
}

/// Those of the tips that are in the packs.
async fn write_tips(bare: Bare, indices: Vec<std::path::PathBuf>, tips: HashSet<ObjectId>) -> Result<()> {
    let writing = tokio::task::spawn_blocking(move || {
        let indices = indices.into_iter().map(Index::open).collect::<holdfast_git::Result<Vec<_>>>()?;
        let mut there: Vec<ObjectId> =
            tips.into_iter().filter(|id| indices.iter().any(|it| it.contains(*id))).collect();
        there.sort_unstable();
        let names: Vec<String> = there.iter().map(|id| format!("refs/tips/{id}")).collect();
        let refs = names.iter().zip(&there).map(|(name, id)| (name.as_str(), Target { id: *id, peeled: None }));
        Ok(bare.write_refs("refs/heads/master", refs)?)
    });
    writing.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

/// In the lists of all of them, or of none.
async fn swap(
    app: &App,
    held: &Held,
    id: RepositoryId,
    owners: &[RepositoryId],
    old: &[PackId],
    made: &IndexedPack,
) -> Result<Pack> {
    let new = store(app, made, None).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    repository::lock_all(&mut transaction, owners).await?;
    held.check(&mut transaction).await?;
    // From here on nobody forks any of them.
    let is_same = network::owners(&mut transaction, old).await? == owners
        && pack::count_of(&mut transaction, id, old).await? == old.len() as i64;
    if !is_same {
        return Err(Error::Conflict("The packs were changed by somebody else".into()));
    }
    let added = pack::add(&mut transaction, id, &new, now).await?;
    let added = added.ok_or_else(|| Error::Conflict("Packing took too long".into()))?;
    network::replace(&mut transaction, owners, old, added, now).await?;
    commit(transaction).await?;
    Ok(Pack { id: added, checksum: new.checksum, object_key: None, sizes: new.sizes, cruft_since: None })
}

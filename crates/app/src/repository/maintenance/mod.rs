//! Keeping repositories quick and small, for as long as they last.
//!
//! Every push leaves a pack. From time to time the small ones are made into one, and seldom all of them; what no ref leads
//! to is then set apart, and removed for good much later. Packs that forks share are made fewer for all of them at once.

mod held;
mod network;
mod prune;
mod repack;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_git::protocol::receive::Progress;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::{network as rows, repository};
use holdfast_store::worker::maintenance;

use super::fetch::{self, Opened};
use crate::{Actor, App, Error, Result, Thing, access};
use held::Held;

/// What operators decide about what is no longer needed.
#[derive(Clone, Copy, Debug)]
pub struct MaintenanceSettings {
    /// So long what refs have left behind can be brought back.
    pub undo: TimeDelta,
    /// So long objects are kept after it was found that nothing leads to them.
    pub prune_after: TimeDelta,
    /// So long the bytes of packs are kept that no repository lists: until the last reader has gone, and until no backup
    /// of the database that is restored could want them back.
    pub backup_window: TimeDelta,
}

/// After a push; twice for the same repository is once. Not in the push's own transaction: queueing wakes workers, for
/// which all commits of the database would wait in line.
pub(super) async fn request_if_due(app: &App, project: &Project) -> Result<()> {
    let mut connection = app.database.connection().await?;
    let load = pack::load(&mut connection, project.repository.id).await?;
    metrics::histogram!("holdfast_pushed_repository_packs").record(load.own as f64);
    if load.own.max(load.shared) >= app.engine.settings.compact_at {
        maintenance::enqueue(&mut connection, project.id).await?;
    }
    Ok(())
}

/// A repository has at most so many times the packs at which they are made fewer.
const TOO_MANY: i64 = 5;
/// So long a push waits for somebody else who makes them fewer.
const WAIT: Duration = Duration::from_secs(60);

/// Where packs have piled up faster than they are made fewer, a push first makes room, or waits for who does. It is never
/// refused for that.
pub(super) async fn make_room(app: &App, project: &Project, progress: &mut impl Progress) -> Result<()> {
    let most = TOO_MANY * app.engine.settings.compact_at;
    let is_crowded = async || {
        let load = pack::load(&mut *app.database.connection().await?, project.repository.id).await?;
        Ok::<_, Error>(load.own >= most)
    };
    if !is_crowded().await? {
        return Ok(());
    }
    progress.say(b"The repository is being packed, please wait\n").await?;
    // What it has begun itself it ends: otherwise the next one would begin it anew, and so on.
    let work = async {
        let begun = Instant::now();
        let mut every = tokio::time::interval(Duration::from_millis(500));
        loop {
            every.tick().await;
            match Box::pin(maintain(app, &Actor::Operator, &ProjectRef::Id(project.id), Extent::Small)).await {
                Err(Error::Conflict(_)) if begun.elapsed() < WAIT && is_crowded().await? => {}
                Err(Error::Conflict(_)) => return Ok(()),
                outcome => return outcome.map(drop),
            }
        }
    };
    // Beside it: who does not listen must not hold up what is locked meanwhile.
    let company = async {
        let mut every = tokio::time::interval(Duration::from_secs(5));
        loop {
            every.tick().await;
            if let Err(error) = progress.keep_alive().await {
                return error;
            }
        }
    };
    tokio::select! {
        done = work => {
            if let Err(error) = done {
                tracing::warn!(%error, project = project.id.get(), "packs pile up and cannot be made fewer");
            }
            Ok(())
        }
        error = company => Err(error.into()),
    }
}

/// What was done, for who asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    pub before: usize,
    pub after: usize,
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What pays: a pack that is larger than all smaller ones together stays as it is. So a byte is written again only when
    /// the repository has doubled, and now and then.
    Due,
    /// All that can be.
    Whole,
    /// What is quick: only the small packs.
    Small,
}

const WHOLE_EVERY: TimeDelta = TimeDelta::days(5);
pub(super) const BUSY: &str = "Somebody else is at it";

/// Does what is due. What is pushed meanwhile is not touched: it is not on the list that was read.
pub async fn maintain(app: &App, actor: &Actor, project: &ProjectRef, extent: Extent) -> Result<Maintained> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let opened = fetch::open(app, actor, project, ProjectAction::Read).await?;
    let id = opened.project.repository.id;
    let held = Held::take(app, format!("repository/{id}")).await?;
    let done = take_turns(app, &held, opened, extent).await;
    held.give_back().await;
    done
}

async fn take_turns(app: &App, held: &Held, opened: Opened, extent: Extent) -> Result<Maintained> {
    let id = opened.project.repository.id;
    let before = Listing::read(app, id).await?;
    let is_network_due = network::is_due(app, &before, id, extent);
    if extent != Extent::Small && (is_network_due || is_whole_due(app, &before, id, extent).await?) {
        repack::whole(app, held, &opened.project).await?;
    } else if extent != Extent::Whole {
        repack::small(app, held, id, &before).await?;
    }
    // Behind it, so that what no ref leads to of its own does not become everybody's.
    if is_network_due && let Err(error) = network::repack(app, held, &opened).await {
        tracing::warn!(%error, repository = id.get(), "packs that forks share cannot be made fewer");
    }
    if extent != Extent::Small {
        prune::prune(app, held, &opened.project).await?;
    }
    Ok(Maintained { before: before.packs.len(), after: Listing::read(app, id).await?.packs.len() })
}

async fn is_whole_due(app: &App, listing: &Listing, id: RepositoryId, extent: Extent) -> Result<bool> {
    let last = repository::repacked(&mut *app.database.connection().await?, id).await?;
    Ok(match last {
        // Packs may have become its own since, because forks went.
        Some((_, generation)) if generation == listing.generation && listing.own().count() < 2 => false,
        _ if extent == Extent::Whole => true,
        // Where all would be made one anyhow, it is to have a bitmap. What came since has none: every clone walks through it.
        Some((at, generation)) if app.clock.now() - at < WHOLE_EVERY => {
            let is_all_small = listing.small().len() == listing.own().count();
            let pushes = (listing.generation - generation).unsigned_abs();
            let pays = is_all_small || pushes * BYTES_PER_PUSH >= bytes(listing.own());
            listing.shared.is_empty() && pays && pushes >= listing.set_apart() * PUSHES_PER_PACK_SET_APART
        }
        _ => true,
    })
}

/// So many bytes may be written again for each push.
const BYTES_PER_PUSH: u64 = 64 << 10;
/// Each time may leave another one: by a thousand pushes a day there are some eighty of them in two weeks.
const PUSHES_PER_PACK_SET_APART: u64 = 4;

/// The packs of a repository at one generation.
struct Listing {
    generation: i64,
    packs: Vec<Pack>,
    /// Those that others list, too, with who did so first.
    shared: HashMap<PackId, RepositoryId>,
}

impl Listing {
    async fn read(app: &App, id: RepositoryId) -> Result<Self> {
        let mut connection = app.database.connection().await?;
        let (generation, packs) = pack::list(&mut connection, id).await?.ok_or(Error::NotFound(Thing::Project))?;
        Ok(Self { generation, packs, shared: rows::shared(&mut connection, id).await? })
    }

    fn own(&self) -> impl Iterator<Item = &Pack> {
        self.packs.iter().filter(|pack| pack.cruft_since.is_none() && !self.shared.contains_key(&pack.id))
    }

    fn set_apart(&self) -> u64 {
        self.packs.iter().filter(|pack| pack.cruft_since.is_some()).count() as u64
    }

    /// Of its own those that are not larger than all smaller ones together.
    fn small(&self) -> Vec<&Pack> {
        let mut own: Vec<&Pack> = self.own().collect();
        own.sort_by_key(|pack| pack.bytes());
        while let Some((largest, smaller)) = own.split_last()
            && largest.bytes() > smaller.iter().map(|pack| pack.bytes()).sum()
        {
            own.pop();
        }
        own
    }
}

fn bytes<'a>(packs: impl IntoIterator<Item = &'a Pack>) -> u64 {
    packs.into_iter().map(Pack::bytes).sum()
}

//! Repository maintenance: repacks repositories and prunes unreachable objects.
//!
//! - Every push adds a pack. A geometric repack merges the small packs, and more rarely a full repack merges all of
//!   them.
//! - A full repack moves unreachable objects to a cruft pack; a prune deletes them after a grace period.
//! - Packs that forks share are merged for all repositories that list them at once.
//! - A lease ensures that one process at a time maintains a repository.

mod lease_guard;
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

use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result, access};
use lease_guard::LeaseGuard;

/// Runtime settings of maintenance, converted from the configuration file.
#[derive(Clone, Copy, Debug)]
pub struct MaintenanceSettings {
    /// The number of packs of a repository at which a job merges the small ones.
    pub repack_threshold_packs: i64,
    /// How long after a ref update the old value of the ref can be restored.
    pub ref_restore_period: TimeDelta,
    /// How long objects are kept in a cruft pack before they are pruned.
    pub prune_after: TimeDelta,
    /// How long unreferenced packs are kept: until their last reader has finished, and until no database backup that is
    /// restored can refer to them.
    pub unreferenced_pack_retention: TimeDelta,
}

/// Enqueues a maintenance job after a push if the repository has enough packs. Idempotent. Enqueued outside the push's
/// transaction: NOTIFY takes a database-wide lock at commit, which would serialize all pushes.
pub(super) async fn request_if_due(app: &App, project: &Project) -> Result<()> {
    let mut connection = app.database.connection().await?;
    let pack_counts = pack::count(&mut connection, project.repository.id).await?;
    metrics::histogram!("holdfast_repository_packs_after_push").record(pack_counts.own as f64);
    if pack_counts.own.max(pack_counts.shared) >= app.settings.maintenance.repack_threshold_packs {
        maintenance::enqueue(&mut connection, project.id).await?;
    }
    Ok(())
}

/// A push repacks first if the repository has this many times the packs at which a job merges them.
const BACKPRESSURE_FACTOR: i64 = 5;
/// Maximum time that a push waits for another process that repacks.
const BACKPRESSURE_TIMEOUT: Duration = Duration::from_secs(60);

/// Repacks before a push, or waits for the process that does, if packs are added faster than jobs merge them. A push is
/// never rejected because of that.
pub(super) async fn apply_backpressure(app: &App, project: &Project, progress: &mut impl Progress) -> Result<()> {
    let max_packs = BACKPRESSURE_FACTOR * app.settings.maintenance.repack_threshold_packs;
    let has_too_many_packs = async || {
        let pack_counts = pack::count(&mut *app.database.connection().await?, project.repository.id).await?;
        Ok::<_, Error>(pack_counts.own >= max_packs)
    };
    if !has_too_many_packs().await? {
        return Ok(());
    }
    progress.send_message(b"The repository is being repacked, please wait\n").await?;
    // A repack that this push runs itself has no timeout: otherwise the next push would start it again, and so on.
    let work = async {
        let started_at = Instant::now();
        let mut interval = tokio::time::interval(Duration::from_millis(500));
        loop {
            interval.tick().await;
            match Box::pin(maintain(app, &Actor::Operator, &ProjectRef::Id(project.id), RepackScope::Geometric)).await {
                Err(Error::Conflict(_))
                    if started_at.elapsed() < BACKPRESSURE_TIMEOUT && has_too_many_packs().await? => {}
                Err(Error::Conflict(_)) => return Ok(()),
                outcome => return outcome.map(drop),
            }
        }
    };
    // Sent concurrently: a client that does not read must not delay the repack, which holds the lease.
    let keep_alive = async {
        let mut interval = tokio::time::interval(Duration::from_secs(5));
        loop {
            interval.tick().await;
            if let Err(error) = progress.send_keepalive().await {
                return error;
            }
        }
    };
    tokio::select! {
        result = work => {
            if let Err(error) = result {
                tracing::warn!(%error, project = project.id.get(), "repack before push failed");
            }
            Ok(())
        }
        error = keep_alive => Err(error.into()),
    }
}

/// Enqueues a maintenance job for a repository, unless one is waiting already.
#[crate::boxed]
pub async fn request(app: &App, actor: &Actor, project: &ProjectRef) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::Read).await?;
    Ok(maintenance::enqueue(&mut connection, project.id).await?)
}

/// The number of packs before and after a maintenance run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    pub packs_before: usize,
    pub packs_after: usize,
}

/// How much of a repository is repacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepackScope {
    /// A full repack if one is due, otherwise a geometric repack. The latter keeps a pack that is larger than all
    /// smaller ones together, so it rewrites a byte only when the repository has doubled in size.
    Due,
    /// A full repack, also of the shared packs, unless nothing has changed since the last one.
    Full,
    /// Only a geometric repack, which is quick.
    Geometric,
}

/// If the last full repack is older than this, maintenance does another one as soon as the repository has changed.
const FULL_REPACK_INTERVAL: TimeDelta = TimeDelta::days(5);
pub(super) const ALREADY_RUNNING: &str = "Maintenance of this repository is already running";

/// Runs the maintenance of a repository. Packs that are pushed meanwhile are not affected: they are not in the pack
/// list that was read.
#[crate::boxed]
pub async fn maintain(app: &App, actor: &Actor, project: &ProjectRef, scope: RepackScope) -> Result<MaintenanceReport> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let repository = open_repository(app, actor, project, ProjectAction::Read).await?;
    let id = repository.project.repository.id;
    let guard = LeaseGuard::acquire(app, format!("repository/{id}")).await?;
    let result = run_steps(app, &guard, repository, scope).await;
    guard.release().await;
    result
}

async fn run_steps(
    app: &App,
    guard: &LeaseGuard,
    repository: OpenRepository,
    scope: RepackScope,
) -> Result<MaintenanceReport> {
    let id = repository.project.repository.id;
    let before = PackList::read(app, id).await?;
    let is_network_due = network::is_due(app, &before, id, scope);
    if scope != RepackScope::Geometric && (is_network_due || is_full_repack_due(app, &before, id, scope).await?) {
        repack::full(app, guard, &repository.project).await?;
    } else if scope != RepackScope::Full {
        repack::geometric(app, guard, id, &before).await?;
    }
    // After the full repack, which has moved unreachable objects to a cruft pack, so that they do not get into the
    // shared pack.
    if is_network_due && let Err(error) = network::repack(app, guard, &repository).await {
        tracing::warn!(%error, repository = id.get(), "shared-pack repack failed");
    }
    if scope != RepackScope::Geometric {
        prune::prune(app, guard, &repository.project).await?;
    }
    Ok(MaintenanceReport { packs_before: before.packs.len(), packs_after: PackList::read(app, id).await?.packs.len() })
}

async fn is_full_repack_due(app: &App, pack_list: &PackList, id: RepositoryId, scope: RepackScope) -> Result<bool> {
    let last = repository::find_last_full_repack(&mut *app.database.connection().await?, id).await?;
    Ok(match last {
        // The own packs are counted because shared packs become own packs when forks are deleted.
        Some(last) if last.generation == pack_list.generation && pack_list.own().count() < 2 => false,
        _ if scope == RepackScope::Full => true,
        // If a geometric repack would merge all packs anyway, a full repack also writes a bitmap. Objects pushed since
        // the last one are in no bitmap, and every clone walks them.
        Some(last) if app.clock.now() - last.at < FULL_REPACK_INTERVAL => {
            let is_all_geometric = pack_list.geometric_tail().len() == pack_list.own().count();
            let pushes = (pack_list.generation - last.generation).unsigned_abs();
            let is_worthwhile = is_all_geometric || pushes * REWRITE_BYTES_PER_PUSH >= total_bytes(pack_list.own());
            pack_list.shared.is_empty() && is_worthwhile && pushes >= pack_list.cruft_count() * PUSHES_PER_CRUFT_PACK
        }
        _ => true,
    })
}

/// Bytes a full repack may rewrite per push since the last one. Bounds write amplification.
const REWRITE_BYTES_PER_PUSH: u64 = 64 << 10;
/// Minimum number of pushes between full repacks for each cruft pack that exists, since a full repack may add another
/// one: at a thousand pushes a day there are about eighty of them in two weeks.
const PUSHES_PER_CRUFT_PACK: u64 = 4;

/// The packs of a repository at one generation.
struct PackList {
    generation: i64,
    packs: Vec<Pack>,
    /// Packs that other repositories list, too, with the oldest repository that lists them.
    shared: HashMap<PackId, RepositoryId>,
}

impl PackList {
    async fn read(app: &App, id: RepositoryId) -> Result<Self> {
        let mut connection = app.database.connection().await?;
        let (generation, packs) = pack::list(&mut connection, id).await?.ok_or(Error::NotFound(Resource::Project))?;
        Ok(Self { generation, packs, shared: rows::find_shared_packs(&mut connection, id).await? })
    }

    /// Returns the packs that only this repository lists, without cruft packs.
    fn own(&self) -> impl Iterator<Item = &Pack> {
        self.packs.iter().filter(|pack| pack.cruft_since.is_none() && !self.shared.contains_key(&pack.id))
    }

    fn cruft_count(&self) -> u64 {
        self.packs.iter().filter(|pack| pack.cruft_since.is_some()).count() as u64
    }

    /// Returns the own packs that a geometric repack merges: all but the largest ones that are larger than all smaller
    /// packs together.
    fn geometric_tail(&self) -> Vec<&Pack> {
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

fn total_bytes<'a>(packs: impl IntoIterator<Item = &'a Pack>) -> u64 {
    packs.into_iter().map(Pack::bytes).sum()
}

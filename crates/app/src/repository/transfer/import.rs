//! Imports a repository from a URL, as a job.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_domain::ids::{JobId, ProjectId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{ImportPhase, ImportUrl, RefUpdateChannel};
use holdfast_git::import::{FetchedRefs, ImportSource, RemoteHead};
use holdfast_git::index_pack::{self, IndexedPack};
use holdfast_git::pack_file::PackSizes;
use holdfast_git::repack::{KeepPacks, Unreachable};
use holdfast_git::{Quarantine, RefName, RefTarget, import, repack};
use holdfast_store::cache::CachedRepository;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::import as rows;
use holdfast_store::repository::pack::NewPack;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use holdfast_store::worker::job;
use holdfast_store::{Connection, commit};
use tokio::sync::watch;

pub use holdfast_store::repository::import::Import;

use super::import_source;
use super::push;
use crate::redaction::redact;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::pack::store_pack;
use crate::repository::refs::planned_update::PlannedUpdate;
use crate::repository::refs::ref_update::{self, RefUpdate, RefUpdateBatch, RefUpdateResult};
use crate::{Actor, App, Error, Resource, Result, access};

/// Returns the state of an import.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Import> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::Update).await?;
    rows::find(&mut connection, project.id).await?.ok_or(Error::NotFound(Resource::Import))
}

/// Cancels an import and returns its state. Data that is already in the repository stays.
#[crate::boxed]
pub async fn cancel(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Import> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::Update).await?;
    if !rows::finish(&mut connection, project.id, None, ImportPhase::Canceled, None, app.clock.now()).await? {
        return Err(Error::NotFound(Resource::Import));
    }
    rows::find(&mut connection, project.id).await?.ok_or(Error::NotFound(Resource::Import))
}

/// Runs an import job and records its result for the user. Only errors that may be temporary are retried.
pub(crate) async fn run(app: &App, id: JobId, project: ProjectId) -> Result<()> {
    let result = copy_source(app, id, project).await;
    record_result(app, id, project, result).await
}

/// Records the result of an import for the user: it is finished, perhaps with a note, or it has failed. Returns an error
/// that may be temporary, so that the job is retried.
pub(crate) async fn record_result(
    app: &App,
    id: JobId,
    project: ProjectId,
    result: Result<Option<String>>,
) -> Result<()> {
    let mut connection = app.database.connection().await?;
    let now = app.clock.now();
    match &result {
        Ok(note) => {
            rows::finish(&mut connection, project, Some(id), ImportPhase::Finished, note.as_deref(), now).await?
        }
        Err(Error::DatabaseUnavailable(_) | Error::ObjectStore(_) | Error::TemporarilyUnavailable(_)) => {
            return result.map(drop);
        }
        Err(Error::NotFound(_)) => false,
        Err(error) => {
            let text = match error {
                Error::Rejected(text) | Error::Conflict(text) => text.clone(),
                Error::Git(cause) => cause.to_string(),
                other => {
                    tracing::error!(error = %other, project = project.get(), "import failed");
                    "Internal server error. Ask an administrator to check the server log".into()
                }
            };
            let secrets = rows::find(&mut connection, project).await?.map(|import| credentials(&import));
            let text = redact(&text, &secrets.unwrap_or_default());
            rows::finish(&mut connection, project, Some(id), ImportPhase::Failed, Some(&text), now).await?
        }
    };
    job::finish(&mut connection, id, now).await?;
    Ok(())
}

/// Returns the credentials of an import in the forms in which its source may repeat them. A username without a password
/// is a token.
fn credentials(import: &Import) -> Vec<String> {
    let Some(username) = &import.username else { return Vec::new() };
    let encoded = import_source::encode_credentials(username, import.password.as_deref());
    vec![encoded, import.password.as_ref().unwrap_or(username).clone()]
}

pub(crate) const CANCELED: &str = "canceled";
const TOO_LARGE: &str = "The repository is larger than this server accepts (git.max_pack_bytes)";

/// Records the phase of an import. Fails if it was canceled.
pub(crate) async fn advance(app: &App, job: JobId, project: ProjectId, phase: ImportPhase, percent: i16) -> Result<()> {
    let is_active = rows::advance(&mut *app.database.connection().await?, project, job, phase, percent).await?;
    if is_active { Ok(()) } else { Err(Error::Rejected(CANCELED.into())) }
}

/// Copies the source into the repository of a project. Returns a note for the user if some refs were left out.
async fn copy_source(app: &App, job: JobId, id: ProjectId) -> Result<Option<String>> {
    let repository = open_repository(app, &Actor::Operator, &ProjectRef::Id(id), ProjectAction::Read).await?;
    let found = rows::find(&mut *app.database.connection().await?, id).await?;
    let Some(row) = found.filter(|row| !row.is_finished()) else { return Ok(None) };
    if !repository.refs.is_empty() {
        return Err(Error::Rejected("The repository is no longer empty".into()));
    }
    advance(app, job, id, ImportPhase::Connecting, 0).await?;
    let mut url = ImportUrl::parse(&row.url).map_err(|error| Error::Rejected(error.to_string()))?;
    (url.username, url.password) = (row.username, row.password);
    let fetched = fetch_supervised(app, job, id, import_source::resolve(app, url)).await?;
    let rejected = fetched.rejected;
    if !fetched.refs.is_empty() {
        let mut transaction = app.database.begin().await?;
        let applied = fetched.apply_in(app, &mut transaction, &repository).await?;
        commit(transaction).await?;
        applied.update_cache(app, &repository).await;
    }
    Ok((rejected > 0).then(|| format!("{rejected} refs were not imported: this server does not accept their names")))
}

/// Fetches the bundle of an export, checks it and stores its pack.
pub(crate) async fn fetch_bundle(
    app: &App,
    job: JobId,
    repository: &OpenRepository,
    bundle: &Path,
) -> Result<FetchedRepository> {
    let source = std::future::ready(Ok(ImportSource::bundle(bundle)));
    match fetch_supervised(app, job, repository.project.id, source).await {
        // The text of git contains paths of this server.
        Err(Error::Git(error)) => {
            tracing::warn!(%error, project = repository.project.id.get(), "the bundle of an export cannot be read");
            Err(Error::Rejected("git cannot read project.bundle: the repository in the export is damaged".into()))
        }
        fetched => fetched,
    }
}

/// Fetches a source while the import is not canceled and within its limits.
async fn fetch_supervised(
    app: &App,
    job: JobId,
    id: ProjectId,
    source: impl Future<Output = Result<ImportSource>>,
) -> Result<FetchedRepository> {
    let started_at = Instant::now();
    let quarantine = Arc::new(app.git_runtime.cache()?.quarantine(None)?);
    let (progress, steps) = watch::channel(ImportStep::Connecting);
    let fetching = async { fetch(app, &quarantine, &source.await?, &progress).await };
    let fetched = tokio::select! {
        fetched = fetching => fetched?,
        error = supervise(app, job, id, &quarantine, started_at, steps) => return Err(error),
    };
    // From here on the import of a repository can no longer be canceled.
    advance(app, job, id, ImportPhase::Storing, 100).await?;
    Ok(fetched)
}

/// The content of a source, checked and stored, before the refs of the repository are created.
pub(crate) struct FetchedRepository {
    head: RemoteHead,
    refs: Vec<(RefName, RefTarget)>,
    rejected: usize,
    pack: Option<IndexedPack>,
    stored: Option<NewPack>,
    /// Its directory contains the files of the pack.
    quarantine: Arc<Quarantine>,
}

impl FetchedRepository {
    /// Returns the number of branches and tags.
    pub fn refs(&self) -> usize {
        self.refs.len()
    }

    /// Returns the number of refs whose names are not accepted.
    pub fn rejected_refs(&self) -> usize {
        self.rejected
    }

    /// Returns the default branch. A bundle tells only its commit: of several branches with that commit, the one with a
    /// usual name is the default branch.
    fn default_branch(&self) -> Option<&RefName> {
        let has_name = |name: &RefName, branch: &str| name.as_branch() == Some(branch);
        if let Some(branch) = &self.head.branch {
            return self.refs.iter().map(|(name, _)| name).find(|name| *name == branch);
        }
        let at_head =
            self.refs.iter().filter(|(name, target)| name.as_branch().is_some() && Some(target.id) == self.head.id);
        let at_head: Vec<&RefName> = at_head.map(|(name, _)| name).collect();
        let usual = ["main", "master"].iter().find_map(|usual| at_head.iter().find(|name| has_name(name, usual)));
        usual.or(at_head.first()).copied()
    }

    /// Creates the refs in a transaction of the caller, who commits it.
    pub async fn apply_in(
        self,
        app: &App,
        connection: &mut Connection,
        repository: &OpenRepository,
    ) -> Result<AppliedImport> {
        let default_branch = self.default_branch().cloned();
        let (id, generation) = (repository.project.repository.id, repository.refs.generation);
        let cached_repository = app.cached_repository(id, generation).await?;
        let Self { refs, pack, stored, quarantine, .. } = self;
        let files = pack.zip(stored.as_ref().map(|pack| pack.sizes));
        let to_update = |(name, new)| PlannedUpdate::from(RefUpdate { name, old: None, new: Some(new) });
        let updates = refs.into_iter().map(to_update).collect();
        let origin = RefUpdateOrigin { user: None, channel: RefUpdateChannel::Import };
        let batch = RefUpdateBatch {
            pack: stored,
            default_branch: default_branch.as_ref(),
            ..RefUpdateBatch::new(repository, updates, None, origin)
        };
        let result = ref_update::apply_in(app, connection, batch).await?;
        match result.rejections.iter().flatten().next().copied() {
            Some(rejection) => Err(Error::Rejected(rejection.into())),
            None => Ok(AppliedImport { result, files, cached_repository, _quarantine: quarantine }),
        }
    }
}

/// Refs that an import has created, in a transaction that is not committed yet.
pub(crate) struct AppliedImport {
    result: RefUpdateResult,
    files: Option<(IndexedPack, PackSizes)>,
    cached_repository: CachedRepository,
    _quarantine: Arc<Quarantine>,
}

impl AppliedImport {
    /// Adds the pack to the local cache, after the transaction is committed.
    pub async fn update_cache(&self, app: &App, repository: &OpenRepository) {
        let files = self.files.as_ref().map(|(pack, sizes)| (pack, *sizes));
        push::update_local_cache(app, &self.cached_repository, &self.result, files, repository).await;
    }
}

/// Fetches everything from a source, checks it and stores its pack. Rejects a source with too many refs before anything
/// is stored.
async fn fetch(
    app: &App,
    quarantine: &Arc<Quarantine>,
    source: &ImportSource,
    progress: &watch::Sender<ImportStep>,
) -> Result<FetchedRepository> {
    let (git, bare) = (&app.git_runtime.git, quarantine.repository());
    let head = import::find_remote_head(git, quarantine, source).await?;
    let started_at = Instant::now();
    let report = |percent| {
        progress.send_replace(ImportStep::Receiving { started_at, percent });
    };
    report(0);
    import::fetch(git, quarantine, source, report).await?;
    progress.send_replace(ImportStep::Storing);

    let FetchedRefs { accepted: refs, rejected } = import::list_fetched_refs(git, quarantine).await?;
    let max_refs = app.git_runtime.settings.max_refs;
    if refs.len() > max_refs {
        let count = refs.len();
        return Err(Error::Rejected(format!(
            "The source has {count} branches and tags, and this server accepts {max_refs} in a repository (git.max_refs)"
        )));
    }
    if refs.is_empty() {
        return Ok(FetchedRepository {
            head,
            refs,
            rejected,
            pack: None,
            stored: None,
            quarantine: quarantine.clone(),
        });
    }
    let pack = repack::pack_reachable(git, bare, KeepPacks::None, Unreachable::Include, quarantine.directory()).await?;
    let stored = match &pack {
        Some(pack) => {
            index_pack::check(git, bare, pack, app.git_runtime.settings.pack_limits).await?;
            repack::write_commit_graph(git, bare, pack).await?;
            Some(store_pack(app, pack, None).await?)
        }
        None => None,
    };
    Ok(FetchedRepository { head, refs, rejected, pack, stored, quarantine: quarantine.clone() })
}

/// The step that an import has reached.
#[derive(Clone, Copy, Debug)]
enum ImportStep {
    Connecting,
    Receiving { started_at: Instant, percent: u8 },
    Storing,
}

impl ImportStep {
    /// Returns the phase and the percentage that the API shows.
    fn phase_and_percent(self) -> (ImportPhase, i16) {
        match self {
            Self::Connecting => (ImportPhase::Connecting, 0),
            Self::Receiving { percent, .. } => (ImportPhase::Receiving, percent.into()),
            Self::Storing => (ImportPhase::Storing, 100),
        }
    }

    /// Returns the reason to stop an import that has run for `elapsed` and whose files have this size, or `None`.
    fn stop_reason(self, elapsed: Duration, bytes: u64, max_pack_bytes: u64) -> Option<&'static str> {
        match self {
            _ if elapsed > IMPORT_TIMEOUT => Some(TOO_LONG),
            Self::Receiving { .. } if bytes > max_pack_bytes => Some(TOO_LARGE),
            Self::Receiving { started_at, .. } if is_too_slow(started_at.elapsed(), bytes) => Some(TOO_SLOW),
            _ => None,
        }
    }
}

/// Maximum time of an import from its first connection until its refs are created. Within it the source is fetched,
/// repacked, checked and uploaded. An arbitrary number.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(3600);
const TOO_LONG: &str = "The import took longer than an hour";
/// How often a running import is checked for cancellation and against its limits.
const SUPERVISION_INTERVAL: Duration = Duration::from_secs(1);

/// How long a source may take before it must send bytes. Servers without bitmaps count objects for minutes.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Minimum rate of an import in bytes per second, over all of its time, as for a push. Only bytes that are written to
/// the disk count, progress messages do not: a source must not occupy a worker with these alone.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;
const TOO_SLOW: &str = "The source sends too slowly: less than 16 KiB a second";

fn is_too_slow(elapsed: Duration, bytes: u64) -> bool {
    elapsed > START_TIMEOUT + Duration::from_secs(bytes / MIN_BYTES_PER_SECOND)
}

/// Records the progress of an import. Returns when it must stop, with the reason: it was canceled, takes too long,
/// grows too large or is too slow.
async fn supervise(
    app: &App,
    job: JobId,
    id: ProjectId,
    quarantine: &Quarantine,
    started_at: Instant,
    steps: watch::Receiver<ImportStep>,
) -> Error {
    let mut interval = tokio::time::interval(SUPERVISION_INTERVAL);
    loop {
        interval.tick().await;
        let step = *steps.borrow();
        let (phase, percent) = step.phase_and_percent();
        if let Err(error) = advance(app, job, id, phase, percent).await {
            return error;
        }
        let received = match directory_bytes(quarantine.directory()) {
            Ok(received) => received,
            Err(error) => return error.into(),
        };
        let max_pack_bytes = app.git_runtime.settings.pack_limits.max_pack_bytes;
        if let Some(reason) = step.stop_reason(started_at.elapsed(), received, max_pack_bytes) {
            return Error::Rejected(reason.into());
        }
    }
}

/// Returns the size of all files below a directory.
fn directory_bytes(directory: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        // Git renames files meanwhile, so a missing one is ignored.
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => sum += directory_bytes(&path).unwrap_or_default(),
            Ok(metadata) => sum += metadata.len(),
            Err(_) => {}
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that sends progress messages, and few bytes or none, does not keep its worker.
    #[test]
    fn imports_below_the_minimum_rate_are_too_slow() {
        let after = Duration::from_secs;
        assert!(!is_too_slow(after(299), 0), "it may count its objects first");
        assert!(is_too_slow(after(301), 0));
        assert!(is_too_slow(after(301), 10_000));
        assert!(!is_too_slow(after(900), 10 << 20));
        assert!(is_too_slow(after(3600), 10 << 20));
    }

    /// An import that is packed or checked for hours occupies a worker as much as one with a slow source.
    #[test]
    fn import_timeout_covers_all_steps() {
        let (soon, late) = (Duration::from_secs(3600), Duration::from_secs(3601));
        for step in [
            ImportStep::Connecting,
            ImportStep::Receiving { started_at: Instant::now(), percent: 1 },
            ImportStep::Storing,
        ] {
            assert_eq!(step.stop_reason(soon, 1 << 20, 1 << 20), None, "{step:?}");
            assert_eq!(step.stop_reason(late, 1 << 20, 1 << 20), Some(TOO_LONG), "{step:?}");
        }
    }

    /// The received pack and the repacked one are both on the disk while the import is stored.
    #[test]
    fn import_size_is_limited_while_receiving() {
        let receiving = ImportStep::Receiving { started_at: Instant::now(), percent: 1 };
        assert_eq!(receiving.stop_reason(Duration::ZERO, 1001, 1000), Some(TOO_LARGE));
        assert_eq!(ImportStep::Storing.stop_reason(Duration::ZERO, 2000, 1000), None);
    }
}

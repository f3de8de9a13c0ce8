//! Copying a repository from elsewhere, as a job.

use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use holdfast_domain::ids::{JobId, ProjectId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::ImportUrl;
use holdfast_git::import::{self, Source};
use holdfast_git::index_pack;
use holdfast_git::repack::{Kept, Unreachable};
use holdfast_git::{Incoming, repack};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::import as rows;
use holdfast_store::repository::ref_change::Mover;
use holdfast_store::worker::job;

pub use holdfast_store::repository::import::Import;

use super::fetch;
use super::pack::store;
use super::push;
use super::ref_change::{self, Change, Move};
use super::remote;
use crate::{Actor, App, Error, Result, Thing, access};

/// How far it has come.
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Import> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::Update).await?;
    rows::find(&mut connection, project.id).await?.ok_or(Error::NotFound(Thing::Import))
}

/// Stops it. What is there already stays.
pub async fn cancel(app: &App, actor: &Actor, project: &ProjectRef) -> Result<Import> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::Update).await?;
    if !rows::finish(&mut connection, project.id, None, "canceled", None, app.clock.now()).await? {
        return Err(Error::NotFound(Thing::Import));
    }
    rows::find(&mut connection, project.id).await?.ok_or(Error::NotFound(Thing::Import))
}

/// Tells what went wrong to who waits for it; only what may pass by itself is tried again.
pub(crate) async fn run(app: &App, id: JobId, project: ProjectId) -> Result<()> {
    let done = copy(app, id, project).await;
    let mut connection = app.database.connection().await?;
    let now = app.clock.now();
    match &done {
        Ok(note) => rows::finish(&mut connection, project, Some(id), "finished", note.as_deref(), now).await?,
        Err(Error::Unavailable(_) | Error::ObjectStore(_) | Error::NotYet(_)) => return done.map(drop),
        Err(Error::NotFound(_)) => false,
        Err(error) => {
            let text = match error {
                Error::Refused(text) | Error::Conflict(text) => text.clone(),
                Error::Git(cause) => cause.to_string(),
                other => {
                    tracing::error!(error = %other, project = project.get(), "an import failed");
                    "internal error".into()
                }
            };
            rows::finish(&mut connection, project, Some(id), "failed", Some(&text), now).await?
        }
    };
    job::finish(&mut connection, id, now).await?;
    Ok(())
}

const CANCELED: &str = "canceled";
const TOO_LARGE: &str = "The repository is larger than this instance takes in one piece";

async fn advance(app: &App, job: JobId, project: ProjectId, phase: &str, percent: i16) -> Result<()> {
    let goes_on = rows::advance(&mut *app.database.connection().await?, project, job, phase, percent).await?;
    if goes_on { Ok(()) } else { Err(Error::Refused(CANCELED.into())) }
}

/// A note for who waits, if not everything could be taken.
async fn copy(app: &App, job: JobId, id: ProjectId) -> Result<Option<String>> {
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(id), ProjectAction::Read).await?;
    let found = rows::find(&mut *app.database.connection().await?, id).await?;
    let Some(row) = found.filter(|row| !row.is_over()) else { return Ok(None) };
    if !opened.refs.is_empty() {
        return Err(Error::Refused("The repository is not empty any more".into()));
    }
    advance(app, job, id, "connecting", 0).await?;
    let mut url = ImportUrl::parse(&row.url).map_err(|error| Error::Refused(error.to_string()))?;
    (url.username, url.password) = (row.username, row.password);
    let source = remote::find(app, url).await?;
    let incoming = app.engine.cache()?.incoming(None)?;
    let head = import::head(&app.engine.git, &incoming, &source).await?;
    receive(app, job, id, &incoming, &source).await?;
    advance(app, job, id, "storing", 100).await?;

    let (refs, refused) = import::refs(&app.engine.git, &incoming).await?;
    let note = (refused > 0).then(|| format!("{refused} refs were left out: their names are not accepted here"));
    if refs.is_empty() {
        return Ok(note);
    }
    let (git, bare) = (&app.engine.git, incoming.bare());
    let pack = repack::by_refs(git, bare, Kept::Nothing, Unreachable::Included, incoming.directory()).await?;
    if let Some(pack) = &pack {
        index_pack::check(git, bare, pack, app.engine.settings.pack_limits).await?;
        repack::write_graph(git, bare, pack).await?;
    }
    let stored = match &pack {
        Some(pack) => Some(store(app, pack, None).await?),
        None => None,
    };
    let files = pack.as_ref().zip(stored.as_ref().map(|pack| pack.sizes));
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    let moves: Vec<Move> = refs.into_iter().map(|(name, new)| Move { name, old: None, new: Some(new) }).collect();
    let default = head.filter(|head| moves.iter().any(|it| it.name == *head));
    let mover = Mover { user: None, via: "import" };
    let change = Change { pack: stored, default: default.as_ref(), ..Change::new(&opened, moves, Vec::new(), mover) };
    let changed = ref_change::apply(app, change).await?;
    push::finish(app, &lease, &changed, files, &opened).await;
    match changed.refusals.iter().flatten().next() {
        Some(refusal) => Err(Error::Refused((*refusal).into())),
        None => Ok(note),
    }
}

/// How long a source may prepare its answer before bytes must come. Servers without bitmaps count for minutes.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Minimum rate of an import in bytes per second, over all of its time, as for a push. Lines about progress do not count,
/// only what is written to the disk: a source must not hold a worker by talking.
const MIN_RATE: u64 = 16 << 10;
const TOO_SLOW: &str = "The source sends too slowly: less than 16 KiB a second";

fn is_too_slow(elapsed: Duration, bytes: u64) -> bool {
    elapsed > START_TIMEOUT + Duration::from_secs(bytes / MIN_RATE)
}

/// Tells how far it is, and stops when it is canceled, grows too large or is too slow.
async fn receive(app: &App, job: JobId, id: ProjectId, incoming: &Incoming, source: &Source) -> Result<()> {
    let percent = AtomicU8::new(0);
    let begin = Instant::now();
    let watch = async {
        let mut every = tokio::time::interval(Duration::from_secs(1));
        loop {
            every.tick().await;
            if let Err(error) = advance(app, job, id, "receiving", percent.load(Ordering::Relaxed).into()).await {
                return error;
            }
            match bytes(incoming.directory()) {
                Ok(bytes) if bytes > app.engine.settings.pack_limits.max_pack_bytes => {
                    return Error::Refused(TOO_LARGE.into());
                }
                Ok(bytes) if is_too_slow(begin.elapsed(), bytes) => return Error::Refused(TOO_SLOW.into()),
                Ok(_) => {}
                Err(error) => return error.into(),
            }
        }
    };
    let fetch = import::fetch(&app.engine.git, incoming, source, |now| percent.store(now, Ordering::Relaxed));
    tokio::select! {
        fetched = fetch => Ok(fetched?),
        error = watch => Err(error),
    }
}

/// All that is there, however it is kept.
fn bytes(directory: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        // Git renames things while we look.
        match std::fs::metadata(&path) {
            Ok(about) if about.is_dir() => sum += bytes(&path).unwrap_or_default(),
            Ok(about) => sum += about.len(),
            Err(_) => {}
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that sends a line of progress now and then, and few bytes or none, gives its worker back.
    #[test]
    fn a_source_must_send_bytes_not_progress() {
        let after = Duration::from_secs;
        assert!(!is_too_slow(after(299), 0), "it may count its objects first");
        assert!(is_too_slow(after(301), 0));
        assert!(is_too_slow(after(301), 10_000));
        assert!(!is_too_slow(after(900), 10 << 20));
        assert!(is_too_slow(after(3600), 10 << 20));
    }
}

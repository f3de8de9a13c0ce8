//! Copying a repository from elsewhere, as a job.

use std::path::Path;
use std::time::{Duration, Instant};

use holdfast_domain::ids::{JobId, ProjectId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::ImportUrl;
use holdfast_git::index_pack::{self, IndexedPack};
use holdfast_git::repack::{Kept, Unreachable};
use holdfast_git::{Incoming, RefName, Target, import, repack};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::import as rows;
use holdfast_store::repository::pack::NewPack;
use holdfast_store::repository::ref_change::Mover;
use holdfast_store::worker::job;
use tokio::sync::watch;

pub use holdfast_store::repository::import::Import;

use super::fetch;
use super::pack::store;
use super::push;
use super::ref_change::{self, Change, Move};
use super::remote;
use crate::hooks::hide;
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
            let secrets = rows::find(&mut connection, project).await?.map(|import| credentials(&import));
            let text = hide(&text, &secrets.unwrap_or_default());
            rows::finish(&mut connection, project, Some(id), "failed", Some(&text), now).await?
        }
    };
    job::finish(&mut connection, id, now).await?;
    Ok(())
}

/// Returns the credentials of an import in the forms in which its source may repeat them. A name without a password is a
/// token.
fn credentials(import: &Import) -> Vec<String> {
    let Some(username) = &import.username else { return Vec::new() };
    let encoded = remote::encoded_credentials(username, import.password.as_deref());
    vec![encoded, import.password.as_ref().unwrap_or(username).clone()]
}

const CANCELED: &str = "canceled";
const TOO_LARGE: &str = "The repository is larger than this instance takes in one piece";

async fn advance(app: &App, job: JobId, project: ProjectId, phase: &str, percent: i16) -> Result<()> {
    let goes_on = rows::advance(&mut *app.database.connection().await?, project, job, phase, percent).await?;
    if goes_on { Ok(()) } else { Err(Error::Refused(CANCELED.into())) }
}

/// Copies the source into the repository of a project. Returns a note for the user if some refs were left out.
async fn copy(app: &App, job: JobId, id: ProjectId) -> Result<Option<String>> {
    let begin = Instant::now();
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(id), ProjectAction::Read).await?;
    let found = rows::find(&mut *app.database.connection().await?, id).await?;
    let Some(row) = found.filter(|row| !row.is_over()) else { return Ok(None) };
    if !opened.refs.is_empty() {
        return Err(Error::Refused("The repository is not empty any more".into()));
    }
    advance(app, job, id, "connecting", 0).await?;
    let mut url = ImportUrl::parse(&row.url).map_err(|error| Error::Refused(error.to_string()))?;
    (url.username, url.password) = (row.username, row.password);
    let incoming = app.engine.cache()?.incoming(None)?;
    let (progress, steps) = watch::channel(Step::Connecting);
    let prepared = tokio::select! {
        prepared = prepare(app, &incoming, url, &progress) => prepared?,
        error = supervise(app, job, id, &incoming, begin, steps) => return Err(error),
    };
    // From here on there is no way back.
    advance(app, job, id, "storing", 100).await?;
    let Prepared { head, refs, note, pack, stored } = prepared;
    if refs.is_empty() {
        return Ok(note);
    }
    let files = pack.as_ref().zip(stored.as_ref().map(|pack| pack.sizes));
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    let moves: Vec<Move> = refs.into_iter().map(|(name, new)| Move { name, old: None, new: Some(new) }).collect();
    let default = head.filter(|head| moves.iter().any(|it| it.name == *head));
    let mover = Mover { user: None, via: "import" };
    let change = Change { pack: stored, default: default.as_ref(), ..Change::new(&opened, moves, None, mover) };
    let changed = ref_change::apply(app, change).await?;
    push::finish(app, &lease, &changed, files, &opened).await;
    match changed.refusals.iter().flatten().next() {
        Some(refusal) => Err(Error::Refused((*refusal).into())),
        None => Ok(note),
    }
}

/// What a source had, checked and stored, before the refs of the repository are created.
struct Prepared {
    head: Option<RefName>,
    refs: Vec<(RefName, Target)>,
    note: Option<String>,
    pack: Option<IndexedPack>,
    stored: Option<NewPack>,
}

/// Fetches everything from a source, checks it and stores its pack. Refuses a source with too many refs before anything is
/// stored.
async fn prepare(app: &App, incoming: &Incoming, url: ImportUrl, progress: &watch::Sender<Step>) -> Result<Prepared> {
    let (git, bare) = (&app.engine.git, incoming.bare());
    let source = remote::find(app, url).await?;
    let head = import::head(git, incoming, &source).await?;
    let begin = Instant::now();
    let report = |percent| {
        progress.send_replace(Step::Receiving { begin, percent });
    };
    report(0);
    import::fetch(git, incoming, &source, report).await?;
    progress.send_replace(Step::Storing);

    let (refs, refused) = import::refs(git, incoming).await?;
    let max_refs = app.engine.settings.max_refs;
    if refs.len() > max_refs {
        let count = refs.len();
        return Err(Error::Refused(format!(
            "The source has {count} branches and tags, and this server accepts {max_refs} in a repository (git.max_refs)"
        )));
    }
    let note = (refused > 0).then(|| format!("{refused} refs were left out: their names are not accepted here"));
    if refs.is_empty() {
        return Ok(Prepared { head, refs, note, pack: None, stored: None });
    }
    let pack = repack::by_refs(git, bare, Kept::Nothing, Unreachable::Included, incoming.directory()).await?;
    let stored = match &pack {
        Some(pack) => {
            index_pack::check(git, bare, pack, app.engine.settings.pack_limits).await?;
            repack::write_graph(git, bare, pack).await?;
            Some(store(app, pack, None).await?)
        }
        None => None,
    };
    Ok(Prepared { head, refs, note, pack, stored })
}

/// How far an import has come.
#[derive(Clone, Copy, Debug)]
enum Step {
    Connecting,
    Receiving { begin: Instant, percent: u8 },
    Storing,
}

impl Step {
    /// Returns the phase and the percentage that the API shows.
    fn shown(self) -> (&'static str, i16) {
        match self {
            Self::Connecting => ("connecting", 0),
            Self::Receiving { percent, .. } => ("receiving", percent.into()),
            Self::Storing => ("storing", 100),
        }
    }

    /// Returns why an import must stop that began `elapsed` ago and whose files have this size.
    fn refusal(self, elapsed: Duration, bytes: u64, max_pack_bytes: u64) -> Option<&'static str> {
        match self {
            _ if elapsed > IMPORT_TIMEOUT => Some(TOO_LONG),
            Self::Receiving { .. } if bytes > max_pack_bytes => Some(TOO_LARGE),
            Self::Receiving { begin, .. } if is_too_slow(begin.elapsed(), bytes) => Some(TOO_SLOW),
            _ => None,
        }
    }
}

/// Maximum time of an import from its first connection until its refs are created. Within it the source is fetched, packed
/// anew, checked and uploaded. An arbitrary number.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(3600);
const TOO_LONG: &str = "The import took longer than an hour";
/// How often a running import looks whether it was canceled.
const SUPERVISION_INTERVAL: Duration = Duration::from_secs(1);

/// How long a source may prepare its answer before bytes must come. Servers without bitmaps count for minutes.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Minimum rate of an import in bytes per second, over all of its time, as for a push. Lines about progress do not count,
/// only what is written to the disk: a source must not hold a worker by talking.
const MIN_RATE: u64 = 16 << 10;
const TOO_SLOW: &str = "The source sends too slowly: less than 16 KiB a second";

fn is_too_slow(elapsed: Duration, bytes: u64) -> bool {
    elapsed > START_TIMEOUT + Duration::from_secs(bytes / MIN_RATE)
}

/// Records how far an import has come. Returns when it must stop, and why: it was canceled, takes too long, grows too large
/// or is too slow.
async fn supervise(
    app: &App,
    job: JobId,
    id: ProjectId,
    incoming: &Incoming,
    begin: Instant,
    steps: watch::Receiver<Step>,
) -> Error {
    let mut every = tokio::time::interval(SUPERVISION_INTERVAL);
    loop {
        every.tick().await;
        let step = *steps.borrow();
        let (phase, percent) = step.shown();
        if let Err(error) = advance(app, job, id, phase, percent).await {
            return error;
        }
        let received = match bytes(incoming.directory()) {
            Ok(received) => received,
            Err(error) => return error.into(),
        };
        let max_pack_bytes = app.engine.settings.pack_limits.max_pack_bytes;
        if let Some(reason) = step.refusal(begin.elapsed(), received, max_pack_bytes) {
            return Error::Refused(reason.into());
        }
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

    /// An import that is packed or checked for hours keeps a worker as one does whose source is slow.
    #[test]
    fn an_import_has_an_hour_for_all_its_steps() {
        let (soon, late) = (Duration::from_secs(3600), Duration::from_secs(3601));
        for step in [Step::Connecting, Step::Receiving { begin: Instant::now(), percent: 1 }, Step::Storing] {
            assert_eq!(step.refusal(soon, 1 << 20, 1 << 20), None, "{step:?}");
            assert_eq!(step.refusal(late, 1 << 20, 1 << 20), Some(TOO_LONG), "{step:?}");
        }
    }

    /// The pack that is stored lies beside the one that was received for a while.
    #[test]
    fn the_size_of_an_import_counts_while_it_is_received() {
        let receiving = Step::Receiving { begin: Instant::now(), percent: 1 };
        assert_eq!(receiving.refusal(Duration::ZERO, 1001, 1000), Some(TOO_LARGE));
        assert_eq!(Step::Storing.refusal(Duration::ZERO, 2000, 1000), None);
    }
}

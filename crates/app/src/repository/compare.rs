//! What happened between two commits.

use std::io;
use std::time::Duration;

use futures_util::stream::BoxStream;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::diff::Diff;
pub use holdfast_git::diff::FileDiff;
use holdfast_git::{ObjectId, SHA1, merge_base};
use holdfast_store::projects::project::ProjectRef;
use tokio::time::Instant;
use tracing::Instrument;

use super::commit::{Commit, load_listed_with};
use super::fetch;
use super::objects::GitObjects;
use super::outlet::{Outlet, gone, outlet};
use super::revision;
use crate::{Actor, App, Error, Result, Thing};

pub struct Comparison {
    /// The newest commit, if there is any.
    pub newest: Option<Commit>,
    /// Whether both are the same commit.
    pub is_same: bool,
    /// All commits, then all files, then the end. Each is sent before the next is read: there may be very many.
    pub parts: BoxStream<'static, io::Result<Part>>,
}

pub enum Part {
    /// Oldest first.
    Commit(Box<Commit>),
    File(FileDiff),
    /// `is_too_large` if not all of it can be shown, or not at a glance.
    End {
        is_too_large: bool,
    },
}

/// Git may compute on it for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beyond this it is too large for a glance, as existing clients know it.
const MOST_FILES: u64 = 100;
const MOST_LINES: u64 = 5000;
const MOST_BYTES: u64 = 512_000;

/// The commits that `to` has and `from` has not, and what they changed since the two parted.
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, from: &str, to: &str) -> Result<Comparison> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let from = revision::resolve(app, &opened, from).await?.ok_or(Error::NotFound(Thing::Commit))?;
    let to = revision::resolve(app, &opened, to).await?.ok_or(Error::NotFound(Thing::Commit))?;
    let objects = GitObjects::of(app, &opened).await?;
    let looked = objects.read(move |reader| {
        let ids = reader.between(&[from], to)?;
        let newest = ids.first().map(|id| reader.commit(*id)).transpose()?;
        Ok((ids, newest))
    });
    let held = fetch::hold(app, &opened).await?;
    let (git, bare) = (&app.engine.git, &held.lease.bare);
    // Git begins to compare while we still look for the commits.
    let begun = async {
        let base = merge_base::find(git, bare, from, to).await?;
        Ok(Diff::start(git, bare, base.unwrap_or(ObjectId::empty_tree(SHA1)), to)?)
    };
    let ((ids, newest), diff) = tokio::try_join!(looked, begun)?;
    let (mut outlet, parts) = outlet(64);
    let work = async move {
        let _held = held;
        // Who has gone is noticed also while git has nothing to say.
        let closed = outlet.closed();
        let send = async {
            send_commits(&objects, ids, &mut outlet).await?;
            send_files(diff, &mut outlet).await
        };
        let sent = tokio::select! {
            sent = send => sent,
            () = closed => Err(gone().into()),
        };
        match sent {
            Ok(()) => outlet.end().await,
            Err(error) => {
                tracing::info!(%error, "a comparison broke off");
                outlet.break_off(io::Error::other(error));
            }
        }
    };
    tokio::spawn(work.instrument(tracing::Span::current()));
    Ok(Comparison { newest: newest.map(Into::into), is_same: from == to, parts })
}

/// Held at once.
const COMMITS: usize = 100;

async fn send_commits(objects: &GitObjects, ids: Vec<ObjectId>, outlet: &mut Outlet<Part>) -> Result<()> {
    for some in ids.rchunks(COMMITS) {
        let some = some.to_vec();
        let commits = objects.read(move |reader| load_listed_with(reader, some)).await?;
        for commit in commits.into_iter().rev() {
            let size = AROUND + commit.message.len();
            outlet.send(Part::Commit(Box::new(commit)), size).await?;
        }
    }
    Ok(())
}

/// Bytes of a part beside its text, roughly.
const AROUND: usize = 500;

async fn send_files(mut diff: Diff, outlet: &mut Outlet<Part>) -> Result<()> {
    let mut left = PATIENCE;
    let (mut files, mut lines, mut bytes) = (0, 0, 0);
    let is_too_late = loop {
        let begin = Instant::now();
        let Ok(next) = tokio::time::timeout(left, diff.next()).await else { break true };
        left = left.saturating_sub(begin.elapsed());
        let Some(file) = next? else { break false };
        files += 1;
        lines += file.lines;
        bytes += file.bytes;
        let size = AROUND + file.text.len();
        outlet.send(Part::File(file), size).await?;
    };
    let is_too_large = is_too_late || files > MOST_FILES || lines > MOST_LINES || bytes > MOST_BYTES;
    Ok(outlet.send(Part::End { is_too_large }, AROUND).await?)
}

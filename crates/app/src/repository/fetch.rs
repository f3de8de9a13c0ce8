//! Reading a repository over git's own protocol. What refs there are is told from the database; what they lead to is
//! sent by git, after it was decided which ids may be asked for.

use std::collections::HashSet;
use std::future;
use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use holdfast_domain::Visibility;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::program::{Command, read_said};
use holdfast_git::protocol::Version;
use holdfast_git::protocol::advertisement::{self, Refs};
use holdfast_git::protocol::upload::{self, Fetch, LsRefs};
use holdfast_git::{Incoming, ObjectId, reachability};
use holdfast_store::cache::Lease;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::snapshot::Snapshot;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::answer::{self, Key, Source};
use super::reach;
use crate::{Actor, App, Error, Result, access};

/// A repository at one generation, which every answer about it uses.
pub struct Opened {
    pub project: Project,
    pub refs: Arc<Snapshot>,
}

pub async fn open(app: &App, actor: &Actor, project: &ProjectRef, action: ProjectAction) -> Result<Opened> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, action).await?;
    let state = &project.repository;
    let refs = app.engine.snapshots.at(&mut connection, state.id, state.generation, state.head.as_deref()).await?;
    Ok(Opened { project, refs })
}

impl Opened {
    /// What is said first. `stateless` is over HTTP.
    pub fn advertise_upload(&self, version: Version, stateless: bool) -> BytesMut {
        match version {
            // A client asks for bundles without a password.
            Version::V2 => advertisement::capabilities(self.project.visibility == Visibility::Public),
            older => advertisement::upload(&*self.refs, older, stateless),
        }
    }

    pub fn advertise_receive(&self) -> BytesMut {
        advertisement::receive(&*self.refs)
    }

    pub fn list_refs(&self, request: &LsRefs) -> BytesMut {
        advertisement::ls_refs(&*self.refs, request)
    }
}

/// What a client may say about what it has and wants. It is kept while it is answered.
pub const LONGEST_REQUEST: usize = 16 << 20;

/// What git sends, as it comes. When this is dropped git ends.
pub type Answer = BoxStream<'static, io::Result<Bytes>>;

/// Answers one request. An id that no ref of this project leads to is refused, wherever its object is, also while
/// others are given it: whether somebody may ask comes before what is answered.
pub async fn answer(app: &App, opened: &Opened, version: Version, mut fetch: Fetch) -> Result<Answer> {
    let mut held = check(app, opened, &mut fetch).await?;
    let answers = &app.engine.answers;
    let key = Key::of(opened.project.repository.id, version, &fetch).await?;
    if let Some(key) = key {
        let (reader, is_shared) = answers.join(key, app.engine.cache()?.scratch());
        if is_shared {
            // Whoever makes it may be waiting for this turn.
            held = None;
        }
        let make = make(app, opened, version, &fetch, held.take());
        if let Some(answer) = answers.give(reader, Some(key), make).await? {
            if is_shared {
                answers.count(true);
            }
            return Ok(answer);
        }
    }
    let make = make(app, opened, version, &fetch, held);
    let answer = answers.give(answers.alone(), None, make).await?;
    answer.ok_or_else(|| unreachable!("nobody else could have begun it"))
}

/// Refuses wants that no ref reaches, and removes from the request what the client may not claim to have. Returns the
/// permits and the lease if they were needed for that: most fetches want tips, and have nothing or what is near them.
async fn check(app: &App, opened: &Opened, fetch: &mut Fetch) -> Result<Option<Held>> {
    let mut held = None;
    let wanted = without_tips(opened, fetch.wants.clone());
    if !wanted.is_empty() {
        let held = held.insert(hold(app, opened).await?);
        check_reachable(app, opened, &held.lease, wanted).await?;
    }
    let wants = std::mem::take(&mut fetch.wants);
    reach::remove_unreached_claims(app, opened, fetch, &wants, &mut held).await?;
    Ok(held)
}

async fn make(app: &App, opened: &Opened, version: Version, fetch: &Fetch, held: Option<Held>) -> Result<Source> {
    let held = match held {
        Some(held) => held,
        None => hold(app, opened).await?,
    };
    app.engine.answers.count(false);
    let view = if fetch.names_refs { Some(view(app, opened, &held.lease)?) } else { None };
    let directory = view.as_ref().map_or(held.lease.bare.directory(), Incoming::directory);
    let command = app.engine.git.command(directory, "upload-pack");
    let command = command.environment("GIT_PROTOCOL", version.variable());
    let command = command.words(["--stateless-rpc", "--strict"]).path(directory);
    answer::start(command, Bytes::copy_from_slice(&fetch.raw), Held { _view: view, ..held })
}

/// What stays while git answers: this node's copy, and a place among those that are served.
pub(super) struct Held {
    pub lease: Lease,
    _view: Option<Incoming>,
    _turns: Turns,
}

pub(super) async fn hold(app: &App, opened: &Opened) -> Result<Held> {
    let id = opened.project.repository.id;
    let turns = app.engine.turn_to_fetch(id).await;
    let lease = app.lease(id, opened.refs.generation).await?;
    Ok(Held { lease, _view: None, _turns: turns })
}

/// The same repository with its refs on the disk, for what cannot do without. In the copy itself they would outlive the
/// moment in which they are true.
fn view(app: &App, opened: &Opened, lease: &Lease) -> Result<Incoming> {
    let view = app.engine.cache()?.incoming(Some(&lease.bare))?;
    view.bare().write_refs(opened.refs.head(), opened.refs.with_prefix(""))?;
    Ok(view)
}

/// What git makes of one whole request, for nobody else.
pub(super) async fn send(app: &App, command: Command, request: Bytes, held: Held) -> Result<Answer> {
    let answers = &app.engine.answers;
    let answer = answers.give(answers.alone(), None, async { answer::start(command, request, held) }).await?;
    answer.ok_or_else(|| unreachable!("nobody else could have begun it"))
}

const CHUNK: usize = 64 << 10;

/// Which ids may be asked for is left to git here, so it goes by the refs alone.
const ONLY_WHAT_REFS_NAME: [&str; 3] = [
    "uploadpack.allowAnySHA1InWant=false",
    "uploadpack.allowTipSHA1InWant=false",
    "uploadpack.allowReachableSHA1InWant=false",
];

/// Versions 0 and 1 on a connection that stays: git leads the whole conversation, from the list of refs on.
pub async fn converse(
    app: &App,
    opened: &Opened,
    version: Version,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    let mut held = Some(hold(app, opened).await?);
    let view = match &held {
        Some(held) => view(app, opened, &held.lease)?,
        None => unreachable!("it was acquired just now"),
    };
    let directory = view.directory();
    let command = app.engine.git.command_with(directory, "upload-pack", ONLY_WHAT_REFS_NAME);
    let command = command.environment("GIT_PROTOCOL", version.variable()).word("--strict").path(directory);
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    let mut stdout = BufReader::with_capacity(CHUNK, stdout);
    let hear = async {
        let heard = async {
            let Some(mut fetch) = upload::read_v0_wants(input, LONGEST_REQUEST).await.map_err(io::Error::other)? else {
                return Ok(());
            };
            let wants = std::mem::take(&mut fetch.wants);
            let mut is_last = false;
            loop {
                let checked = reach::remove_unreached_claims(app, opened, &mut fetch, &wants, &mut held).await;
                checked.map_err(io::Error::other)?;
                stdin.write_all(&fetch.raw).await?;
                let next = if is_last {
                    None
                } else {
                    upload::read_v0_haves(input, LONGEST_REQUEST).await.map_err(io::Error::other)?
                };
                let Some(next) = next else { return Ok(()) };
                (fetch, is_last) = (next.round, next.is_last);
            }
        };
        let heard: io::Result<()> = heard.await;
        drop(stdin);
        match heard {
            // Git may have heard enough before the client has said everything.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => error,
            _ => future::pending().await,
        }
    };
    let tell = async {
        let (told, said) = tokio::join!(tokio::io::copy_buf(&mut stdout, output), read_said(stderr));
        told.map(|_| said)
    };
    let said = tokio::select! {
        said = tell => said?,
        error = hear => return Err(error.into()),
    };
    output.flush().await?;
    Ok(running.succeeded(&said).await?)
}

/// Few are compared one by one: of a million refs that is much quicker than to look up each.
const FEW: usize = 16;

/// Those of them that no ref points at.
pub(super) fn without_tips(opened: &Opened, mut wanted: HashSet<ObjectId>) -> HashSet<ObjectId> {
    if wanted.len() > FEW {
        opened.refs.tips().for_each(|tip| _ = wanted.remove(&tip));
        return wanted;
    }
    let mut left: Vec<ObjectId> = wanted.into_iter().collect();
    for tip in opened.refs.head_target().into_iter().chain(opened.refs.tips()) {
        if left.is_empty() {
            break;
        }
        left.retain(|id| *id != tip);
    }
    left.into_iter().collect()
}

/// Refuses what no ref of this project leads to, as if it were not there.
pub(super) async fn check_reachable(
    app: &App,
    opened: &Opened,
    lease: &Lease,
    wanted: HashSet<ObjectId>,
) -> Result<()> {
    let wanted = without_tips(opened, wanted);
    if wanted.is_empty() {
        return Ok(());
    }
    let first = *wanted.iter().next().expect("it is not empty");
    let tips: Vec<ObjectId> = opened.refs.tips().collect();
    if reachability::reach_all(&app.engine.git, &lease.bare, &tips, wanted).await? {
        Ok(())
    } else {
        Err(Error::Refused(format!("upload-pack: not our ref {first}")))
    }
}

pub(super) type Turns = (tokio::sync::OwnedSemaphorePermit, tokio::sync::OwnedSemaphorePermit);

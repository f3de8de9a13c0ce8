//! Reading a repository over git's own protocol. What refs there are is told from the database; what they lead to is
//! sent by git, after it was decided which ids may be asked for.

use std::collections::HashSet;
use std::future;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use holdfast_domain::Visibility;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::pkt::{self, Packet};
use holdfast_git::program::{Command, read_said};
use holdfast_git::protocol::Version;
use holdfast_git::protocol::advertisement::{self, Refs};
use holdfast_git::protocol::upload::{self, Fetch, LsRefs};
use holdfast_git::{Incoming, ObjectId, reachability};
use holdfast_store::cache::Lease;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::snapshot::Snapshot;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::OwnedSemaphorePermit;

use super::answer::{self, Key, Source};
use super::request_reader::{MAX_REQUEST_BYTES, RequestReader, within_request_timeout};
use super::{outlet, reach};
use crate::client::ClientKey;
use crate::{Actor, App, Error, Result, access};

/// A repository at one generation, which every answer about it uses.
pub struct Opened {
    pub project: Project,
    pub refs: Arc<Snapshot>,
    /// The client whose share of fetches this counts for.
    pub client: ClientKey,
}

pub async fn open(app: &App, actor: &Actor, project: &ProjectRef, action: ProjectAction) -> Result<Opened> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, action).await?;
    let state = &project.repository;
    let refs = app.engine.snapshots.at(&mut connection, state.id, state.generation, state.head.as_deref()).await?;
    Ok(Opened { project, refs, client: actor.client() })
}

impl Opened {
    /// Writes what is said first. `stateless` is over HTTP.
    pub async fn advertise_upload(
        &self,
        version: Version,
        stateless: bool,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        match version {
            // A client asks for bundles without a password.
            Version::V2 => {
                let has_bundles = self.project.visibility == Visibility::Public;
                output.write_all(&advertisement::capabilities(has_bundles)).await
            }
            older => advertisement::upload(&*self.refs, older, stateless, output).await,
        }
    }

    pub async fn advertise_receive(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        advertisement::receive(&*self.refs, output).await
    }

    pub async fn list_refs(&self, request: &LsRefs, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        advertisement::ls_refs(&*self.refs, request, output).await
    }
}

/// The maximum size of one round of `have` lines. Git sends at most 16,384 of them at a time.
const MAX_ROUND_BYTES: usize = 1 << 20;

/// What git sends, as it comes. When this is dropped git ends.
pub type Answer = BoxStream<'static, io::Result<Bytes>>;

/// Answers one request. An id that no ref of this project leads to is refused, wherever its object is, also while
/// others are given it: whether somebody may ask comes before what is answered.
pub async fn answer(app: &App, opened: &Opened, version: Version, mut fetch: Fetch) -> Result<Answer> {
    let mut held = check(app, opened, &mut fetch).await?;
    let answers = &app.engine.answers;
    let key = Key::of(opened.project.repository.id, version, &fetch).await?;
    if let Some(key) = key {
        let mut client_turn = None;
        let (reader, is_shared) = match answers.join_existing(key) {
            Some(reader) => (reader, true),
            None => {
                // Taken before others can join: they do not wait for a client that waits for its own share.
                if held.is_none() {
                    client_turn = Some(app.engine.client_turn_to_fetch(opened.client).await);
                }
                answers.join(key, app.engine.cache()?.scratch())
            }
        };
        if is_shared {
            // The request that computes the response may be waiting for these permits.
            (held, client_turn) = (None, None);
        }
        let make = make(app, opened, version, &fetch, held.take(), client_turn);
        if let Some(answer) = answers.give(reader, Some(key), make).await? {
            if is_shared {
                answers.count(true);
            }
            return Ok(answer);
        }
    }
    let held = match held {
        Some(held) => held,
        None => hold(app, opened).await?,
    };
    let make = make(app, opened, version, &fetch, Some(held), None);
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

async fn make(
    app: &App,
    opened: &Opened,
    version: Version,
    fetch: &Fetch,
    held: Option<Held>,
    client_turn: Option<OwnedSemaphorePermit>,
) -> Result<Source> {
    let held = match held {
        Some(held) => held,
        None => {
            // This request took over a response whose first client has left. Others wait for it, so that it must not wait
            // for the share of its own client.
            let client_turn = client_turn.or_else(|| app.engine.try_client_turn_to_fetch(opened.client));
            let too_many = Error::NotYet("You have too many fetches under way, please try again");
            hold_for_client(app, opened, client_turn.ok_or(too_many)?).await?
        }
    };
    app.engine.answers.count(false);
    let view = if fetch.names_refs { Some(view(app, opened, &held.lease)?) } else { None };
    let repository = view.as_ref().map_or(&held.lease.bare, Incoming::bare);
    let command = app.engine.git.command(repository, "upload-pack");
    let command = command.environment("GIT_PROTOCOL", version.variable());
    let command = command.words(["--stateless-rpc", "--strict"]).path(repository.directory());
    answer::start(command, fetch.raw.clone(), Held { _view: view, ..held })
}

/// What stays while git answers: this node's copy, and a place among those that are served.
pub(super) struct Held {
    pub lease: Lease,
    _view: Option<Incoming>,
    _turns: Turns,
    _client_turn: OwnedSemaphorePermit,
}

pub(super) async fn hold(app: &App, opened: &Opened) -> Result<Held> {
    let client_turn = app.engine.client_turn_to_fetch(opened.client).await;
    hold_for_client(app, opened, client_turn).await
}

/// Like [`hold`], for a client whose turn is known to have come.
async fn hold_for_client(app: &App, opened: &Opened, client_turn: OwnedSemaphorePermit) -> Result<Held> {
    let id = opened.project.repository.id;
    let turns = app.engine.turn_to_fetch(id).await;
    let lease = app.lease(id, opened.refs.generation).await?;
    Ok(Held { lease, _view: None, _turns: turns, _client_turn: client_turn })
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

/// Versions 0 and 1 on a connection that stays: from what the client wants on, git leads the conversation. The turn is taken
/// only then, and the client has a limited time to say what it has: a silent one keeps nobody waiting.
pub async fn converse(
    app: &App,
    opened: &Opened,
    version: Version,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    opened.advertise_upload(version, false, output).await?;
    output.flush().await?;
    let mut request = RequestReader::new(app, opened.client, &mut *input);
    let wants = within_request_timeout(app, upload::read_v0_wants(&mut request, MAX_REQUEST_BYTES)).await??;
    let _permit = request.into_permit();
    let Some(mut fetch) = wants.filter(|fetch| !fetch.wants.is_empty()) else { return Ok(()) };
    if let Some(id) = without_tips(opened, fetch.wants.clone()).iter().next() {
        return Err(not_our_ref(*id));
    }
    let held = hold(app, opened).await?;
    let view = view(app, opened, &held.lease)?;
    let mut held = Some(held);
    let command = app.engine.git.command_with(view.bare(), "upload-pack", ONLY_WHAT_REFS_NAME);
    let command = command.environment("GIT_PROTOCOL", version.variable()).word("--strict").path(view.directory());
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    let mut stdout = BufReader::with_capacity(CHUNK, stdout);
    let hear = async {
        let heard = async {
            let wants = std::mem::take(&mut fetch.wants);
            reach::remove_unreached_claims(app, opened, &mut fetch, &wants, &mut held).await?;
            stdin.write_all(&fetch.raw).await.map_err(holdfast_git::Error::from)?;
            // The client has this time for all rounds together. What the server does between them does not count.
            let mut left = app.engine.settings.request_timeout;
            loop {
                let begin = Instant::now();
                let next = tokio::time::timeout(left, upload::read_v0_haves(input, MAX_ROUND_BYTES)).await;
                left = left.saturating_sub(begin.elapsed());
                let late = |_| holdfast_git::Error::protocol("the request did not arrive in time");
                let Some(mut next) = next.map_err(late)?? else { return Ok(()) };
                reach::remove_unreached_claims(app, opened, &mut next.round, &wants, &mut held).await?;
                stdin.write_all(&next.round.raw).await.map_err(holdfast_git::Error::from)?;
                if next.is_last {
                    return Ok(());
                }
            }
        };
        let heard: Result<()> = heard.await;
        drop(stdin);
        match heard {
            Ok(()) => future::pending().await,
            // Git may have heard enough before the client has said everything.
            Err(Error::Git(holdfast_git::Error::Io(error))) if error.kind() == io::ErrorKind::BrokenPipe => {
                future::pending().await
            }
            Err(error) => error,
        }
    };
    let tell = async {
        // The client has heard of the refs already.
        while !matches!(pkt::read(&mut stdout).await.map_err(io::Error::other)?, None | Some(Packet::Flush)) {}
        let said = async { io::Result::Ok(read_said(stderr).await) };
        let ((), said) = tokio::try_join!(outlet::copy(&mut stdout, output), said)?;
        io::Result::Ok(said)
    };
    let said = tokio::select! {
        said = tell => said?,
        error = hear => return Err(error),
    };
    Ok(running.succeeded(&said).await?)
}

/// Refuses an id as git does. Whether there is such an object makes no difference.
fn not_our_ref(id: ObjectId) -> Error {
    Error::Refused(format!("upload-pack: not our ref {id}"))
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
        Err(not_our_ref(first))
    }
}

pub(super) type Turns = (OwnedSemaphorePermit, OwnedSemaphorePermit);

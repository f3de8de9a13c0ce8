//! Reading a repository over git's own protocol. What refs there are is told from the database; what they lead to is
//! sent by git, after it was decided which ids may be asked for.

use std::collections::HashSet;
use std::future;
use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::program::{Command, Running, read_said};
use holdfast_git::protocol::Version;
use holdfast_git::protocol::advertisement::{self, Refs};
use holdfast_git::protocol::upload::{Fetch, LsRefs};
use holdfast_git::{ObjectId, reachability};
use holdfast_store::cache::Lease;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::repository;
use holdfast_store::repository::snapshot::Snapshot;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::ChildStdout;

use crate::{Actor, App, Error, Result, Thing, access};

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

/// As it is by now.
pub(super) async fn reopen(app: &App, opened: Opened) -> Result<Opened> {
    let id = opened.project.repository.id;
    let mut connection = app.database.connection().await?;
    let (generation, head) = repository::state(&mut connection, id).await?.ok_or(Error::NotFound(Thing::Project))?;
    let refs = app.engine.snapshots.at(&mut connection, id, generation, head.as_deref()).await?;
    Ok(Opened { refs, ..opened })
}

impl Opened {
    /// What is said first. `stateless` is over HTTP.
    pub fn advertise_upload(&self, version: Version, stateless: bool) -> BytesMut {
        match version {
            Version::V2 => advertisement::capabilities(),
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

/// What git sends, as it comes. When this is dropped git ends.
pub type Answer = BoxStream<'static, io::Result<Bytes>>;

/// Answers one request. An id that no ref of this project leads to is refused, wherever its object is.
pub async fn answer(app: &App, opened: &Opened, version: Version, fetch: Fetch) -> Result<Answer> {
    let turns = app.engine.turn_to_fetch(opened.project.repository.id).await;
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    check_reachable(app, opened, &lease, fetch.wants).await?;
    if fetch.names_refs {
        write_refs(opened, &lease)?;
    }
    let command = app.engine.git.command(lease.bare.directory(), "upload-pack");
    let command = command.environment("GIT_PROTOCOL", version.variable());
    let command = command.words(["--stateless-rpc", "--strict"]).path(lease.bare.directory());
    send(command, fetch.raw.into(), lease, turns)
}

/// What git makes of one whole request.
pub(super) fn send(command: Command, request: Bytes, lease: Lease, turns: Turns) -> Result<Answer> {
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    tokio::spawn(async move {
        stdin.write_all(&request).await.ok();
    });
    let said = tokio::spawn(read_said(stderr));
    Ok(stream(Sending { stdout, running, said: Some(said), _lease: lease, _turns: Some(turns) }))
}

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
    let _turns = app.engine.turn_to_fetch(opened.project.repository.id).await;
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    write_refs(opened, &lease)?;
    let directory = lease.bare.directory();
    let command = app.engine.git.command_with(directory, "upload-pack", ONLY_WHAT_REFS_NAME);
    let command = command.environment("GIT_PROTOCOL", version.variable()).word("--strict").path(directory);
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    let mut stdout = BufReader::with_capacity(CHUNK, stdout);
    let hear = async {
        let heard = tokio::io::copy(input, &mut stdin).await;
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

pub(super) fn write_refs(opened: &Opened, lease: &Lease) -> Result<()> {
    Ok(lease.bare.write_refs(opened.refs.head(), opened.refs.with_prefix(""))?)
}

/// Refuses what no ref of this project leads to, as if it were not there.
pub(super) async fn check_reachable(
    app: &App,
    opened: &Opened,
    lease: &Lease,
    mut wanted: HashSet<ObjectId>,
) -> Result<()> {
    for tip in opened.refs.tips() {
        wanted.remove(&tip);
    }
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

struct Sending {
    stdout: ChildStdout,
    running: Running,
    said: Option<tokio::task::JoinHandle<Vec<u8>>>,
    _lease: Lease,
    _turns: Option<Turns>,
}

const CHUNK: usize = 64 << 10;

fn stream(sending: Sending) -> Answer {
    let next = |sending: Option<Sending>| async {
        let mut sending = sending?;
        let mut chunk = BytesMut::with_capacity(CHUNK);
        match sending.stdout.read_buf(&mut chunk).await {
            Ok(0) => {
                let said = match sending.said.take() {
                    Some(said) => said.await.unwrap_or_default(),
                    None => Vec::new(),
                };
                match sending.running.succeeded(&said).await {
                    Ok(()) => None,
                    Err(error) => {
                        tracing::info!(%error, "a fetch did not end well");
                        Some((Err(io::Error::other(error)), None))
                    }
                }
            }
            Ok(_) => Some((Ok(chunk.freeze()), Some(sending))),
            Err(error) => Some((Err(error), None)),
        }
    };
    stream::unfold(Some(sending), next).boxed()
}

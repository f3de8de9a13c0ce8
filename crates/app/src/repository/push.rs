//! Taking a push: what HTTP and SSH have in common, from the first command to the report.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_git::connectivity::{self, Known};
use holdfast_git::index_pack::{self, IndexedPack, Sent};
use holdfast_git::protocol::receive::{Command, PushRequest, Reporter, read_request};
use holdfast_git::reader::Reader;
use holdfast_git::{Incoming, ObjectId, RefName};
use holdfast_store::cache::Lease;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{NewPack, Pack, Sizes};
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_change::Mover;
use tokio::io::{AsyncRead, AsyncWrite};

use super::ci_file;
use super::fetch::{self, Opened};
use super::maintenance;
use super::pack::store;
use super::push_details::PushDetails;
use super::receipt::Intended;
use super::ref_change::{self, Change, Changed, Move};
use super::request_reader::within_request_timeout;
use super::verdict::{Judge, Verdict, repeated};
use crate::actor::Caller;
use crate::{Actor, App, Error, Result};

/// Reads commands and pack, and reports what came of them. What goes wrong on the way is told to the client, too.
pub async fn receive(
    app: &App,
    actor: &Actor,
    opened: Opened,
    via: &'static str,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: impl AsyncWrite + Unpin + Send,
) -> Result<()> {
    let request = within_request_timeout(app, read_request(input)).await??;
    let Some(request) = request else { return Ok(()) };
    let mut reporter = Reporter::new(output, request.capabilities);
    let names = || request.commands.iter().map(|command| command.name.as_slice());
    let opened = Arc::new(opened);
    let outcome = take(app, actor, &opened, via, &request, input, &mut reporter).await;
    match outcome {
        Ok(refusals) => {
            let results = names().zip(&refusals).map(|(name, refusal)| (name, refusal.as_deref().map_or(Ok(()), Err)));
            reporter.report(Ok(()), results).await?;
        }
        Err(error) => {
            let text = explain(&error);
            reporter.report(Err(&text), names().map(|name| (name, Err("unpacker error")))).await?;
        }
    }
    Ok(())
}

/// For the person who pushes; what is nobody's business but ours goes to the log.
fn explain(error: &Error) -> String {
    let ours = match error {
        Error::Git(cause @ (holdfast_git::Error::Failed { .. } | holdfast_git::Error::Protocol(_))) => {
            return cause.to_string();
        }
        Error::Unavailable(_) => "the database cannot be reached, please push again",
        Error::ObjectStore(_) => "the object store cannot be reached, please push again",
        Error::Internal(_) | Error::Git(_) => "internal error",
        known => return known.to_string(),
    };
    tracing::error!(%error, "a push failed");
    ours.into()
}

/// What came, before it is decided what becomes of it.
struct Arrived<'a> {
    caller: &'a Caller,
    mover: Mover,
    request: &'a PushRequest,
    incoming: Incoming,
    /// None for what only removes refs, which needs no objects.
    lease: Option<Lease>,
    pack: Option<IndexedPack>,
}

/// So often a push is checked anew because objects were removed meanwhile.
const RECHECKS: usize = 3;

/// For each command, why it was not followed.
async fn take<W: AsyncWrite + Unpin + Send>(
    app: &App,
    actor: &Actor,
    opened: &Arc<Opened>,
    via: &'static str,
    request: &PushRequest,
    input: &mut (impl AsyncRead + Unpin + Send),
    reporter: &mut Reporter<W>,
) -> Result<Vec<Option<String>>> {
    let caller = actor.caller()?;
    if request.has_pack() {
        maintenance::make_room(app, &opened.project, reporter).await?;
    }
    let _turn = app.engine.turn_to_push(actor.client()).await;
    let id = opened.project.repository.id;
    let lease = match request.has_pack() {
        true => Some(app.lease(id, opened.refs.generation).await?),
        false => None,
    };
    let incoming = app.engine.cache()?.incoming(lease.as_ref().map(|lease| &lease.bare))?;
    let pack = if request.has_pack() {
        let limits = app.engine.settings.pack_limits;
        index_pack::receive(&app.engine.git, &incoming, input, limits, reporter).await?
    } else {
        None
    };
    let mover = Mover { user: Some(caller.account.id()), via };
    let arrived = Arrived { caller, mover, request, incoming, lease, pack };
    let (mut opened, mut stored) = (opened.clone(), None);
    for _ in 0..RECHECKS {
        match settle(app, actor, &opened, &arrived, &mut stored).await {
            Err(Error::CleanedUp) => {}
            settled => return settled,
        }
        let project = ProjectRef::Id(opened.project.id);
        opened = Arc::new(fetch::open(app, actor, &project, ProjectAction::WriteCode).await?);
        if arrived.lease.is_some() {
            app.lease(id, opened.refs.generation).await?;
        }
    }
    Err(Error::CleanedUp)
}

async fn settle(
    app: &App,
    actor: &Actor,
    opened: &Arc<Opened>,
    arrived: &Arrived<'_>,
    stored: &mut Option<NewPack>,
) -> Result<Vec<Option<String>>> {
    let Arrived { caller, mover, request, incoming, lease, pack } = arrived;
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    let judge = Judge::new(actor, opened, rules);
    let repeated = repeated(&request.commands);
    let mut verdicts: Vec<Verdict<RefName>> = request.commands.iter().map(|command| judge.of_name(command)).collect();
    for (verdict, command) in verdicts.iter_mut().zip(&request.commands) {
        if repeated.contains(command.name.as_slice()) {
            *verdict = Err("the ref is named twice".into());
        }
    }
    refuse_unconnected(app, opened, incoming, pack.as_ref(), &request.commands, &mut verdicts).await?;
    let (verdicts, details, built) =
        judge_objects(judge, caller, opened, incoming, &request.commands, verdicts).await?;

    let mut refusals: Vec<Option<String>> = verdicts.iter().map(|verdict| verdict.as_ref().err().cloned()).collect();
    let moves: Vec<Move> = verdicts.into_iter().filter_map(Verdict::ok).collect();
    if request.capabilities.atomic && refusals.iter().any(Option::is_some) {
        refusals.iter_mut().for_each(|refusal| _ = refusal.get_or_insert_with(|| "atomic push failed".into()));
        return Ok(refusals);
    }
    if moves.is_empty() {
        return Ok(refusals);
    }
    let atomic = request.capabilities.atomic;
    if let (Some(pack), None) = (pack, &stored) {
        let intended = Intended { opened, moves: &moves, mover: *mover, atomic };
        *stored = Some(store(app, pack, Some(intended)).await?);
    }
    let files = pack.as_ref().zip(stored.as_ref().map(|pack| pack.sizes));
    let change = Change { atomic, pack: stored.clone(), built, ..Change::new(opened, moves, Some(details), *mover) };
    let changed = ref_change::apply(app, change).await?;
    if let Some(lease) = lease {
        finish(app, lease, &changed, files, opened).await;
    }
    let mut late = changed.refusals.into_iter();
    for refusal in refusals.iter_mut().filter(|refusal| refusal.is_none()) {
        *refusal = late.next().flatten().map(str::to_owned);
    }
    Ok(refusals)
}

/// Of so many new tips it is found out which of them lack something; beyond that all are refused for one.
const TOLD_APART: usize = 20;

async fn refuse_unconnected(
    app: &App,
    opened: &Opened,
    incoming: &Incoming,
    pack: Option<&IndexedPack>,
    commands: &[Command],
    verdicts: &mut [Verdict<RefName>],
) -> Result<()> {
    let git = &app.engine.git;
    let all = || opened.refs.tips().collect();
    let mut near: Vec<ObjectId> = opened.refs.head_target().into_iter().collect();
    for command in commands {
        // Only what is really ours ends a walk: the client's word for the old value is checked later.
        near.extend(std::str::from_utf8(&command.name).ok().and_then(|name| find(opened, name)));
    }
    let sent = match pack.cloned() {
        None => Sent::default(),
        Some(pack) => {
            let reading = tokio::task::spawn_blocking(move || pack.sent());
            reading.await.map_err(|panicked| Error::Internal(panicked.into()))??
        }
    };
    let check = async |new: &[ObjectId]| {
        connectivity::check(git, incoming.bare(), new, Known { near: &near, all: &all }, &sent).await
    };
    let new: HashSet<ObjectId> =
        commands.iter().zip(&*verdicts).filter(|(_, verdict)| verdict.is_ok()).filter_map(|(it, _)| it.new).collect();
    let new: Vec<ObjectId> = new.into_iter().collect();
    if check(&new).await? {
        return Ok(());
    }
    // Somebody may have deleted a part of this node's copy meanwhile.
    app.lease(opened.project.repository.id, opened.refs.generation).await?;
    if check(&new).await? {
        return Ok(());
    }
    for (command, verdict) in commands.iter().zip(verdicts) {
        if let (Some(tip), Ok(_)) = (command.new, &verdict)
            && (new.len() > TOLD_APART || !check(&[tip]).await?)
        {
            *verdict = Err("missing necessary objects".into());
        }
    }
    Ok(())
}

fn find(opened: &Opened, name: &str) -> Option<ObjectId> {
    use holdfast_git::protocol::advertisement::Refs;
    Some(opened.refs.find(name)?.id)
}

/// Reads objects, so it takes a thread for as long as that lasts.
async fn judge_objects(
    judge: Judge,
    caller: &Caller,
    opened: &Arc<Opened>,
    incoming: &Incoming,
    commands: &[Command],
    names: Vec<Verdict<RefName>>,
) -> Result<(Vec<Verdict<Move>>, PushDetails, Vec<usize>)> {
    let (caller, opened, bare) = (caller.clone(), opened.clone(), incoming.bare().clone());
    let commands = commands.to_vec();
    let judging = tokio::task::spawn_blocking(move || {
        let reader = Reader::open(&bare)?;
        let mut verdicts = Vec::with_capacity(names.len());
        for (command, name) in commands.iter().zip(names) {
            verdicts.push(match name {
                Ok(name) => judge.of_objects(&reader, &name, command)?,
                Err(refusal) => Err(refusal),
            });
        }
        let moves: Vec<Move> = verdicts.iter().filter_map(|verdict| verdict.as_ref().ok()).cloned().collect();
        let details = PushDetails::read(&reader, &opened, caller, &moves)?;
        let built = if opened.project.features.builds_enabled { built(&reader, &moves)? } else { Vec::new() };
        Ok((verdicts, details, built))
    });
    judging.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

/// Of a push that moves more refs than this, the others get no pipeline.
const BUILT: usize = 100;

/// Places of the moves that lead to a CI file.
fn built(reader: &Reader, moves: &[Move]) -> Result<Vec<usize>> {
    let mut built = Vec::new();
    for (place, it) in moves.iter().enumerate().take(BUILT) {
        if let Some(new) = it.new.filter(|_| it.name.as_branch().or(it.name.as_tag()).is_some())
            && ci_file::may_be_at(reader, new.object())?
        {
            built.push(place);
        }
    }
    Ok(built)
}

/// What is only for speed: nothing of it may spoil a push that is kept already.
pub(super) async fn finish(
    app: &App,
    lease: &Lease,
    changed: &Changed,
    files: Option<(&IndexedPack, Sizes)>,
    opened: &Opened,
) {
    let Some(made) = &changed.made else { return };
    let tidy = async {
        let new = made.pack.zip(files).map(|(id, (files, sizes))| {
            (Pack { id, checksum: files.checksum.clone(), object_key: None, sizes, cruft_since: None }, files)
        });
        let added = new.is_some();
        app.engine.cache()?.adopt(lease, made.generation, new).await?;
        if added {
            maintenance::request_if_due(app, &opened.project).await?;
        }
        Ok::<_, Error>(())
    };
    if let Err(error) = tidy.await {
        tracing::warn!(%error, "a push is kept, but this node's copy is behind");
    }
}

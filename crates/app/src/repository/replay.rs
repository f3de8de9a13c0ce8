//! Bringing a lost push back: its pack is checked like one that has just come, and its refs take the door of all refs.

use std::path::Path;
use std::sync::Arc;

use holdfast_git::connectivity::{self, Known};
use holdfast_git::index_pack::{self, IndexedPack, PARTS};
use holdfast_git::pack_scan::PackLimits;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::protocol::receive::Progress;
use holdfast_git::reader::Reader;
use holdfast_git::{Bare, Incoming, ObjectId, RefName, Target};
use holdfast_store::repository::pack::{Bytes, NewPack};
use holdfast_store::repository::ref_change::{Move, Mover};

use super::fetch::Opened;
use super::push_details::PushDetails;
use super::receipt::Receipt;
use super::recovery::{Lost, State, open};
use super::ref_change::{self, Change};
use super::{bring, push};
use crate::accounts::user;
use crate::actor::Caller;
use crate::{Actor, App, Error, Result, Thing};

struct Silent;

impl Progress for Silent {
    fn is_wanted(&self) -> bool {
        false
    }

    async fn say(&mut self, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    async fn keep_alive(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn damaged(lost: &Lost, how: &str) -> Error {
    Error::Conflict(format!("{} {how}", lost.key))
}

/// How many of its refs moved. Twice is once: what the database knows is not lost.
pub async fn apply(app: &App, lost: &Lost) -> Result<usize> {
    let receipt = &lost.receipt;
    let State::Applicable { refs } = lost.state else {
        return Err(Error::Conflict("Its refs have moved elsewhere".into()));
    };
    let opened = Arc::new(open(app, receipt).await?.ok_or(Error::NotFound(Thing::Project))?);
    let fitting = fitting(&opened, receipt)?;
    // What is brought back in part can be brought back no more.
    if fitting.len() < refs {
        return Err(Error::Conflict(
            "Its refs are not where it found them: a push before it may not have come back".into(),
        ));
    }
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    let incoming = app.engine.cache()?.incoming(Some(&lease.bare))?;
    let (pack, sizes) = fetch(app, lost, &incoming).await?;
    refuse_unconnected(app, &opened, &incoming, &pack, &fitting).await?;
    // Who is gone, or blocked, is told of nothing.
    let actor = match receipt.user {
        Some(id) => user::acting(app, id.into()).await?,
        None => None,
    };
    let caller = actor.as_ref().and_then(|actor| actor.caller().ok()).cloned();
    let (moves, details) = look(incoming.bare().clone(), opened.clone(), caller, fitting).await?;
    // Not announced before: should this break off, the sweeper must not know of it.
    let bytes = lost.announced.map_or_else(|| Bytes::Found(lost.key.clone()), Bytes::Stored);
    let mover = Mover { user: actor.as_ref().and_then(Actor::user_id), via: "recover" };
    let new = NewPack { checksum: pack.checksum.clone(), sizes, bytes, is_cruft: false };
    let change = Change {
        atomic: receipt.atomic,
        pack: Some(new),
        // The push was acknowledged: a limit that was lowered since, or refs that were made since, must not lose its refs.
        is_limited: false,
        ..Change::new(&opened, moves, details, mover)
    };
    let changed = ref_change::apply(app, change).await?;
    push::finish(app, &lease, &changed, Some((&pack, sizes)), &opened).await;
    match changed.refusals.iter().filter(|refusal| refusal.is_none()).count() {
        0 => Err(Error::Conflict(changed.refusals.into_iter().flatten().next().unwrap_or_default().into())),
        count => Ok(count),
    }
}

/// Those of its moves whose refs are where it found them.
fn fitting(opened: &Opened, receipt: &Receipt) -> Result<Fitting> {
    let unreadable = || Error::Conflict("Its receipt cannot be read".into());
    let mut fitting = Vec::new();
    for it in &receipt.moves {
        let name = RefName::parse(it.name.as_bytes()).map_err(|_| unreadable())?;
        let (old, new) = it.ids().ok_or_else(unreadable)?;
        if opened.refs.find(name.as_str()).map(|target| target.id) == old {
            fitting.push((name, old, new));
        }
    }
    Ok(fitting)
}

type Sizes = [u64; PARTS.len()];

/// Indexed anew, object by object; what was kept beside the pack must be the same as that.
async fn fetch(app: &App, lost: &Lost, incoming: &Incoming) -> Result<(IndexedPack, Sizes)> {
    let kept = &lost.receipt.sizes;
    let mut sizes: Sizes = Default::default();
    let known = sizes.get_mut(..kept.len()).filter(|_| !kept.is_empty());
    known.ok_or_else(|| damaged(lost, "was written by a later version"))?.copy_from_slice(kept);
    let stem = incoming.directory().join("lost");
    let content = app.objects.get(&lost.key).await?.ok_or_else(|| damaged(lost, "is gone"))?;
    if !bring::write_parts(content, &sizes, &stem).await? {
        return Err(damaged(lost, "is shorter than it should be"));
    }
    let mut file = tokio::fs::File::open(stem.with_extension("pack")).await?;
    // It was accepted once, by the limits of its day.
    let limits = PackLimits { max_pack_bytes: sizes[0], max_object_bytes: u64::MAX, max_inflated_bytes: u64::MAX };
    let pack = index_pack::receive(&app.engine.git, incoming, &mut file, limits, &mut Silent).await?;
    let pack = pack.filter(|pack| pack.checksum == lost.receipt.checksum);
    let pack = pack.ok_or_else(|| damaged(lost, "is not the pack that was pushed"))?;
    for part in ["idx", "rev"] {
        if !is_same(&stem.with_extension(part), &pack.file(part)).await? {
            return Err(damaged(lost, "has an index that does not belong to it"));
        }
    }
    Ok((pack, sizes))
}

async fn is_same(one: &Path, other: &Path) -> Result<bool> {
    Ok(tokio::fs::read(one).await? == tokio::fs::read(other).await?)
}

type Fitting = Vec<(RefName, Option<ObjectId>, Option<ObjectId>)>;

async fn refuse_unconnected(
    app: &App,
    opened: &Opened,
    incoming: &Incoming,
    pack: &IndexedPack,
    fitting: &Fitting,
) -> Result<()> {
    let pack = pack.clone();
    let reading = tokio::task::spawn_blocking(move || pack.sent());
    let sent = reading.await.map_err(|panicked| Error::Internal(panicked.into()))??;
    let near: Vec<ObjectId> = fitting.iter().filter_map(|(_, old, _)| *old).chain(opened.refs.head_target()).collect();
    let new: Vec<ObjectId> = fitting.iter().filter_map(|(_, _, new)| *new).collect();
    let known = Known { near: &near, all: &|| opened.refs.tips().collect() };
    if connectivity::check(&app.engine.git, incoming.bare(), &new, known, &sent).await? {
        Ok(())
    } else {
        Err(Error::Conflict("It builds on objects that are lost, too".into()))
    }
}

async fn look(
    bare: Bare,
    opened: Arc<Opened>,
    caller: Option<Caller>,
    fitting: Fitting,
) -> Result<(Vec<Move>, Option<PushDetails>)> {
    let looking = tokio::task::spawn_blocking(move || {
        let reader = Reader::open(&bare)?;
        let target = |id: ObjectId| Ok::<Target, Error>(reader.peel(id)?.0);
        let made = |(name, old, new): (RefName, _, Option<ObjectId>)| {
            Ok(Move { name, old, new: new.map(target).transpose()? })
        };
        let moves: Vec<Move> = fitting.into_iter().map(made).collect::<Result<_>>()?;
        let details = caller.map(|caller| PushDetails::read(&reader, &opened, caller, &moves)).transpose()?;
        Ok((moves, details))
    });
    looking.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

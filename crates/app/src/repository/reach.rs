//! What may be asked for by its id: only what a ref of this project leads to. Packs hold more than that.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_git::ObjectId;
use holdfast_git::protocol::upload::Fetch;
use holdfast_git::reachability::{self, Scope};
use holdfast_git::reader::{Kind, Reader};

use super::fetch::{self, Held, Opened};
use super::objects;
use crate::{App, Error, Result};

/// The minimum length of an abbreviated id, as git itself abbreviates them at least. Shorter ones are found by trying.
const MIN_ABBREVIATION: usize = 7;

/// Returns the object of that kind whose id begins with these digits, if refs reach just one. Without one, the time that
/// this takes does not depend on whether an object that no ref reaches begins so.
pub(super) async fn find(app: &App, opened: &Opened, hex: &str, kind: Kind) -> Result<Option<ObjectId>> {
    if hex.len() < MIN_ABBREVIATION || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let hex = hex.to_ascii_lowercase();
    if let Ok(id) = ObjectId::from_hex(hex.as_bytes())
        && is_known(app, opened, id, kind)
    {
        return Ok(Some(id));
    }
    let alike = objects::read(app, opened, move |reader| {
        let ids = match ObjectId::from_hex(hex.as_bytes()) {
            Ok(id) => HashSet::from([id]),
            Err(_) => reader.with_prefix(&hex)?,
        };
        let mut alike = HashSet::new();
        for id in ids {
            if reader.kind(id)? == Some(kind) {
                alike.insert(id);
            }
        }
        Ok(alike)
    });
    let reached = reached(app, opened, alike.await?, kind, &mut None).await?;
    Ok(if reached.len() == 1 { reached.into_iter().next() } else { None })
}

/// What was found once need not be looked for again until a ref moves.
fn is_known(app: &App, opened: &Opened, id: ObjectId, kind: Kind) -> bool {
    let key = (opened.project.repository.id, id, kind);
    app.engine.reached.get(&key) == Some(opened.refs.generation)
}

/// Returns those of them that refs reach. `held` is filled if a walk is needed and it is empty.
pub(super) async fn reached(
    app: &App,
    opened: &Opened,
    ids: HashSet<ObjectId>,
    kind: Kind,
    held: &mut Option<Held>,
) -> Result<HashSet<ObjectId>> {
    let (mut reached, mut doubtful) = (HashSet::new(), HashSet::new());
    for id in ids {
        let is_found =
            is_known(app, opened, id, kind) || kind == Kind::Blob && is_in_default_branch(app, opened, id).await?;
        if is_found {
            reached.insert(id);
        } else {
            doubtful.insert(id);
        }
    }
    if !doubtful.is_empty() || reached.is_empty() {
        let held = match held {
            Some(held) => held,
            None => held.insert(fetch::hold(app, opened).await?),
        };
        let tips: Vec<ObjectId> = opened.refs.tips().collect();
        let scope = if kind == Kind::Commit { Scope::Commits } else { Scope::Objects };
        let unreached =
            reachability::unreached(&app.engine.git, &held.lease.bare, &tips, doubtful.clone(), scope).await?;
        reached.extend(doubtful.difference(&unreached));
    }
    for id in &reached {
        app.engine.reached.insert((opened.project.repository.id, *id, kind), opened.refs.generation);
    }
    Ok(reached)
}

/// The commits that are passed before all of history is searched for one: most of those that clients have are among them.
const MAX_RECENT_COMMITS: usize = 2000;

/// Removes the `have` and `shallow` lines of a fetch whose commits no ref reaches. Git takes a client's word for what it
/// has: it would acknowledge these commits, leave out what they contain, name their objects as the bases of deltas, and
/// go on behind them to deepen a shallow history. `wants` are the ids that the client asks for, which refs reach.
pub(super) async fn remove_unreached_claims(
    app: &App,
    opened: &Opened,
    fetch: &mut Fetch,
    wants: &HashSet<ObjectId>,
    held: &mut Option<Held>,
) -> Result<()> {
    let claimed: HashSet<ObjectId> = fetch.haves.union(&fetch.shallow).copied().collect();
    if claimed.is_empty() {
        return Ok(());
    }
    let near: Vec<ObjectId> = wants.iter().copied().chain(opened.refs.head_target()).collect();
    let search = move |reader: &Reader| {
        let mut commits = HashSet::new();
        for id in claimed {
            if reader.kind(id)? == Some(Kind::Commit) {
                commits.insert(id);
            }
        }
        let recent = reader.recent_among(near.into_iter(), &commits, MAX_RECENT_COMMITS)?;
        Ok((commits.difference(&recent).copied().collect::<HashSet<_>>(), recent))
    };
    let (older, mut reachable) = objects::read(app, opened, search).await?;
    let doubtful = fetch::without_tips(opened, older.clone());
    reachable.extend(older.difference(&doubtful));
    if !doubtful.is_empty() {
        reachable.extend(reached(app, opened, doubtful, Kind::Commit, held).await?);
    }
    Ok(fetch.keep_commits(&reachable).await?)
}

/// A megabyte of ids.
const MOST_FILES: usize = 50_000;

/// Whether a file is there now, where most are that are asked for. To look through all of history takes much longer.
async fn is_in_default_branch(app: &App, opened: &Opened, id: ObjectId) -> Result<bool> {
    let Some(head) = opened.refs.head_target() else { return Ok(false) };
    let heads = app.engine.heads.clone();
    objects::read(app, opened, move |reader| {
        let tree = reader.tree_of(head)?;
        // Of many who ask at once one looks.
        let files = heads.try_get_with(tree, || {
            let files = reader.files_below(tree, MOST_FILES)?;
            Ok::<Arc<[ObjectId]>, holdfast_git::Error>(files.unwrap_or_default().into())
        });
        let files = files.map_err(|error| Error::Internal(error.into()))?;
        Ok(files.binary_search(&id).is_ok())
    })
    .await
}

//! What may be asked for by its id: only what a ref of this project leads to. Packs hold more than that.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_git::reader::Kind;
use holdfast_git::{ObjectId, reachability};

use super::fetch::{self, Opened};
use super::objects;
use crate::{App, Error, Result};

/// More objects that begin alike are as good as none.
const MOST_ALIKE: usize = 16;
const LEAST_DIGITS: usize = 4;

/// The object of that kind whose id begins so, if there is just one.
pub(super) async fn find(app: &App, opened: &Opened, hex: &str, kind: Kind) -> Result<Option<ObjectId>> {
    if hex.len() < LEAST_DIGITS || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
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
    let alike = alike.await?;
    if alike.len() > MOST_ALIKE {
        return Ok(None);
    }
    let reached = reached(app, opened, alike, kind).await?;
    Ok(if let [id] = reached[..] { Some(id) } else { None })
}

/// What was found once need not be looked for again until a ref moves.
fn is_known(app: &App, opened: &Opened, id: ObjectId, kind: Kind) -> bool {
    let key = (opened.project.repository.id, id, kind);
    app.engine.reached.get(&key) == Some(opened.refs.generation)
}

/// Those of them that a ref leads to.
async fn reached(app: &App, opened: &Opened, ids: HashSet<ObjectId>, kind: Kind) -> Result<Vec<ObjectId>> {
    let (mut reached, mut doubtful): (Vec<_>, HashSet<_>) = (Vec::new(), HashSet::new());
    for id in ids {
        let is_found =
            is_known(app, opened, id, kind) || kind == Kind::Blob && is_in_default_branch(app, opened, id).await?;
        if is_found {
            reached.push(id);
        } else {
            doubtful.insert(id);
        }
    }
    if !doubtful.is_empty() {
        let held = fetch::hold(app, opened).await?;
        let tips: Vec<ObjectId> = opened.refs.tips().collect();
        let asked = doubtful.clone();
        let hidden = reachability::unreached(&app.engine.git, &held.lease.bare, &tips, asked).await?;
        reached.extend(doubtful.difference(&hidden));
    }
    for id in &reached {
        app.engine.reached.insert((opened.project.repository.id, *id, kind), opened.refs.generation);
    }
    Ok(reached)
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

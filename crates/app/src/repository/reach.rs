//! What may be asked for by its id: only what a ref of this project leads to. Packs hold more than that.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_git::ObjectId;
use holdfast_git::reader::Kind;

use super::commit;
use super::fetch::{self, Opened};
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
    let alike = commit::read(app, opened, move |reader| {
        let ids = match ObjectId::from_hex(hex.as_bytes()) {
            Ok(id) => HashSet::from([id]),
            Err(_) => reader.with_prefix(&hex)?,
        };
        let mut alike = Vec::new();
        for id in ids.into_iter().take(MOST_ALIKE) {
            if reader.kind(id)? == Some(kind) {
                alike.push(id);
            }
        }
        Ok(alike)
    });
    let mut found = None;
    for id in alike.await? {
        if is_reached(app, opened, id, kind).await? && found.replace(id).is_some() {
            return Ok(None);
        }
    }
    Ok(found)
}

/// What was found once need not be looked for again until a ref moves.
fn is_known(app: &App, opened: &Opened, id: ObjectId, kind: Kind) -> bool {
    let key = (opened.project.repository.id, id, kind);
    app.engine.reached.get(&key) == Some(opened.refs.generation)
}

async fn is_reached(app: &App, opened: &Opened, id: ObjectId, kind: Kind) -> Result<bool> {
    let (repository, generation) = (opened.project.repository.id, opened.refs.generation);
    if is_known(app, opened, id, kind) {
        return Ok(true);
    }
    if kind != Kind::Blob || !is_in_default_branch(app, opened, id).await? {
        let _turns = app.engine.turn_to_fetch(repository).await;
        let lease = app.lease(repository, generation).await?;
        match fetch::check_reachable(app, opened, &lease, [id].into()).await {
            Ok(()) => {}
            Err(Error::Refused(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    app.engine.reached.insert((repository, id, kind), generation);
    Ok(true)
}

/// A megabyte of ids.
const MOST_FILES: usize = 50_000;

/// Whether a file is there now, where most are that are asked for. To look through all of history takes much longer.
async fn is_in_default_branch(app: &App, opened: &Opened, id: ObjectId) -> Result<bool> {
    let Some(head) = opened.refs.head_target() else { return Ok(false) };
    let heads = app.engine.heads.clone();
    commit::read(app, opened, move |reader| {
        let tree = reader.tree_of(head)?;
        let files = match heads.get(&tree) {
            Some(files) => files,
            None => {
                let files: Arc<[ObjectId]> = reader.files_below(tree, MOST_FILES)?.unwrap_or_default().into();
                heads.insert(tree, files.clone());
                files
            }
        };
        Ok(files.binary_search(&id).is_ok())
    })
    .await
}

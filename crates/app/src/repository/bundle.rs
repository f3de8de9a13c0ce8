//! The bulk of a large repository as one file, which a client may get before it asks for the rest. Git calls it a bundle:
//! a few lines that say what is in it, and a pack.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use holdfast_domain::Visibility;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::{ObjectId, reachability};
use holdfast_store::cache;
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::{network, ref_log, repository};
use tokio_util::io::ReaderStream;

use super::fetch::{Answer, Opened};
use crate::{App, Result};

/// What can be given out, and how it begins.
pub struct Bundle {
    header: Bytes,
    pack: Pack,
}

impl Bundle {
    pub fn bytes(&self) -> u64 {
        self.header.len() as u64 + self.pack.sizes[0]
    }
}

/// The pack that was made of all refs at one time, if nobody shares it and all that it holds can still be had by refs. Only
/// where nobody needs a password: a client sends none along.
pub async fn find(app: &App, opened: &Opened) -> Result<Option<Arc<Bundle>>> {
    let (id, generation) = (opened.project.repository.id, opened.refs.generation);
    if opened.project.visibility != Visibility::Public {
        return Ok(None);
    }
    if let Some((known, bundle)) = app.engine.bundles.get(&id)
        && known == generation
    {
        return Ok(bundle);
    }
    let bundle = look(app, opened).await?.map(Arc::new);
    app.engine.bundles.insert(id, (generation, bundle.clone()));
    Ok(bundle)
}

async fn look(app: &App, opened: &Opened) -> Result<Option<Bundle>> {
    let id = opened.project.repository.id;
    let mut connection = app.database.connection().await?;
    let Some(base) = repository::base(&mut connection, id).await? else { return Ok(None) };
    let Some((_, packs)) = pack::list(&mut connection, id).await? else { return Ok(None) };
    let shared = network::shared(&mut connection, id).await?;
    let least = app.engine.settings.bundle_from_bytes;
    let is_it = |pack: &Pack| pack.id == base.pack && !shared.contains_key(&pack.id) && pack.sizes[0] >= least;
    let Some(pack) = packs.into_iter().find(is_it) else { return Ok(None) };
    let Some(moved) = ref_log::before(&mut connection, id, base.generation, MOST_MOVED).await? else {
        return Ok(None);
    };
    drop(connection);
    let moved: HashMap<String, Option<ObjectId>> = moved.into_iter().collect();
    let left: HashSet<ObjectId> = moved.values().flatten().copied().collect();
    if !left.is_empty() {
        let lease = app.lease(id, opened.refs.generation).await?;
        let tips: Vec<ObjectId> = opened.refs.tips().collect();
        if !reachability::reach_all(&app.engine.git, &lease.bare, &tips, left).await? {
            return Ok(None);
        }
    }
    let stayed = opened.refs.with_prefix(BRANCHES).filter(|(name, _)| !moved.contains_key(*name));
    let stayed = stayed.map(|(name, target)| (name.to_owned(), target.id));
    let were = moved.iter().filter(|(name, _)| name.starts_with(BRANCHES));
    let mut tips: Vec<(String, ObjectId)> =
        stayed.chain(were.filter_map(|(name, old)| Some((name.clone(), (*old)?)))).take(MOST_TIPS).collect();
    tips.sort_unstable();
    let mut header = String::from("# v2 git bundle\n");
    for (name, tip) in &tips {
        writeln!(header, "{tip} {name}").ok();
    }
    header.push('\n');
    Ok((!tips.is_empty()).then(|| Bundle { header: header.into(), pack }))
}

const BRANCHES: &str = "refs/heads/";
/// Where more has happened it is not looked into.
const MOST_MOVED: i64 = 10_000;
/// What is in it does not depend on how many of them are named.
const MOST_TIPS: usize = 1000;

/// The file as it is sent; nothing if the pack was replaced since it was found.
pub async fn content(app: &App, opened: &Opened, bundle: &Bundle) -> Result<Option<Answer>> {
    let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
    let path = lease.bare.packs().join(format!("{}.pack", cache::stem(&bundle.pack)));
    let file = match tokio::fs::File::open(path).await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let header = futures_util::stream::once(std::future::ready(Ok(bundle.header.clone())));
    // The copy stays until the last byte is sent.
    let pack = ReaderStream::with_capacity(file, CHUNK).map_ok(move |bytes| {
        let _held = &lease;
        bytes
    });
    Ok(Some(header.chain(pack).boxed()))
}

const CHUNK: usize = 256 << 10;

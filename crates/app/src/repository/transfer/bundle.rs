//! Bundles: the base pack of a large public repository as one file, which a client may download before it fetches the
//! rest.
//!
//! A bundle consists of a header that lists its tips, and a pack.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use holdfast_domain::Visibility;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::{ObjectId, reachability};
use holdfast_store::cache;
use holdfast_store::repository::pack::{self, Pack};
use holdfast_store::repository::{network, ref_log, repository};
use tokio_util::io::ReaderStream;

use super::fetch::ResponseStream;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

/// A base pack, with the header that makes it a bundle.
pub struct Bundle {
    header: Bytes,
    pack: Pack,
}

impl Bundle {
    pub fn bytes(&self) -> u64 {
        self.header.len() as u64 + self.pack.sizes.pack
    }
}

/// Returns the bundle of a repository: its base pack, if no other repository lists it and all of its objects are still
/// reachable. Only public projects have one, since clients download it without credentials.
#[crate::boxed]
pub async fn find(app: &App, repository: &OpenRepository) -> Result<Option<Arc<Bundle>>> {
    let (id, generation) = (repository.project.repository.id, repository.refs.generation);
    if repository.project.visibility != Visibility::Public {
        return Ok(None);
    }
    if let Some((cached_generation, bundle)) = app.git_runtime.bundles.get(&id)
        && cached_generation == generation
    {
        return Ok(bundle);
    }
    let bundle = find_uncached(app, repository).await?.map(Arc::new);
    app.git_runtime.bundles.insert(id, (generation, bundle.clone()));
    Ok(bundle)
}

async fn find_uncached(app: &App, repository: &OpenRepository) -> Result<Option<Bundle>> {
    let id = repository.project.repository.id;
    let mut connection = app.database.connection().await?;
    let Some(base) = repository::find_base_pack(&mut connection, id).await? else { return Ok(None) };
    let Some((_, packs)) = pack::list(&mut connection, id).await? else { return Ok(None) };
    let shared = network::find_shared_packs(&mut connection, id).await?;
    let min_bytes = app.git_runtime.settings.bundle_min_bytes;
    let is_base_pack =
        |pack: &Pack| pack.id == base.pack && !shared.contains_key(&pack.id) && pack.sizes.pack >= min_bytes;
    let Some(pack) = packs.into_iter().find(is_base_pack) else { return Ok(None) };
    let Some(updated) = ref_log::first_old_values_since(&mut connection, id, base.generation, MAX_UPDATED_REFS).await?
    else {
        return Ok(None);
    };
    drop(connection);
    let updated: HashMap<String, Option<ObjectId>> = updated.into_iter().collect();
    let old_tips: HashSet<ObjectId> = updated.values().flatten().copied().collect();
    if !old_tips.is_empty() {
        let cached_repository = app.cached_repository(id, repository.refs.generation).await?;
        let tips: Vec<ObjectId> = repository.refs.tips().collect();
        if !reachability::are_all_reachable(&app.git_runtime.git, &cached_repository.bare, &tips, old_tips).await? {
            return Ok(None);
        }
    }
    let unchanged = repository.refs.iter_with_prefix(BRANCH_PREFIX).filter(|(name, _)| !updated.contains_key(*name));
    let unchanged = unchanged.map(|(name, target)| (name.to_owned(), target.id));
    let previous = updated.iter().filter(|(name, _)| name.starts_with(BRANCH_PREFIX));
    let mut tips: Vec<(String, ObjectId)> =
        unchanged.chain(previous.filter_map(|(name, old)| Some((name.clone(), (*old)?)))).take(MAX_TIPS).collect();
    tips.sort_unstable();
    let mut header = String::from("# v2 git bundle\n");
    for (name, tip) in &tips {
        writeln!(header, "{tip} {name}").ok();
    }
    header.push('\n');
    Ok((!tips.is_empty()).then(|| Bundle { header: header.into(), pack }))
}

const BRANCH_PREFIX: &str = "refs/heads/";
/// Maximum number of ref updates since the base pack was written. With more there is no bundle.
const MAX_UPDATED_REFS: i64 = 10_000;
/// Maximum number of tips in the header. The content of the pack does not depend on them.
const MAX_TIPS: usize = 1000;

/// Returns the content of a bundle, or `None` if its pack was replaced since it was found.
#[crate::boxed]
pub async fn open_content(app: &App, repository: &OpenRepository, bundle: &Bundle) -> Result<Option<ResponseStream>> {
    let cached_repository = app.cached_repository(repository.project.repository.id, repository.refs.generation).await?;
    let path = cached_repository.bare.pack_dir().join(format!("{}.pack", cache::pack_file_stem(&bundle.pack)));
    let file = match tokio::fs::File::open(path).await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let header = futures_util::stream::once(std::future::ready(Ok(bundle.header.clone())));
    // Pins the cached repository until the last byte has been sent.
    let pack = ReaderStream::with_capacity(file, CHUNK_SIZE).map_ok(move |bytes| {
        let _pin = &cached_repository;
        bytes
    });
    Ok(Some(header.chain(pack).boxed()))
}

const CHUNK_SIZE: usize = 256 << 10;

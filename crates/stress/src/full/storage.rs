//! Checks that the object store contains exactly the packs that repositories list.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::TryStreamExt as _;
use holdfast_app::App;
use holdfast_domain::ids::PackId;
use holdfast_store::objects::{Objects, Options};
use holdfast_store::repository::audit;
use holdfast_store::repository::pack::{self, Pack};

use crate::Harness;

/// Checks the object store after the sweep, and returns lines for the report. `swept` are the findings of the sweep.
pub async fn check(
    harness: &Harness,
    app: &App,
    options: &Options,
    swept: &[String],
) -> anyhow::Result<Vec<(&'static str, u64)>> {
    let violate = |text: String| harness.history.report_violation(format!("seed {}: {text}", harness.seed));
    swept.iter().for_each(|text| violate(format!("after the cleanup: {text}")));
    let objects = Objects::new(options.clone());
    let mut connection = app.database.connection().await?;
    let mut packs: BTreeMap<PackId, Pack> = BTreeMap::new();
    let mut unshared_bytes = 0;
    for repository in audit::list_repositories(&mut connection).await? {
        let Some((_, listed)) = pack::list(&mut connection, repository.repository).await? else { continue };
        unshared_bytes += listed.iter().map(Pack::bytes).sum::<u64>();
        packs.extend(listed.into_iter().map(|pack| (pack.id, pack)));
    }
    let stored: HashMap<String, u64> = objects.list("packs")?.map_ok(|it| (it.key, it.size)).try_collect().await?;
    let mut listed = HashSet::new();
    for pack in packs.values() {
        let Some(key) = &pack.object_key else { continue };
        listed.insert(key.as_str());
        let size = stored.get(key).copied();
        // An object can be larger than its pack, because a receipt may follow it.
        if size.is_none_or(|size| size < pack.bytes()) {
            violate(format!("pack {} must have {} bytes at {key}, but there are {size:?}", pack.id, pack.bytes()));
        }
    }
    for (key, size) in stored.iter().filter(|(key, _)| !listed.contains(key.as_str())) {
        violate(format!("{size} bytes are stored at {key}, which no repository lists"));
    }
    for name in find_partial_files(options) {
        violate(format!("the file {name} of an unfinished upload was not deleted"));
    }
    let bytes_stored: u64 = stored.values().sum();
    let bytes: u64 = packs.values().map(Pack::bytes).sum();
    Ok(vec![
        ("packs", packs.len() as u64),
        ("bytes of packs in the object store", bytes_stored),
        ("bytes of packs, including those in the database", bytes),
        ("bytes of packs if forks were full copies", unshared_bytes),
    ])
}

/// Returns the names of unfinished uploads, if the object store is a directory.
fn find_partial_files(options: &Options) -> Vec<String> {
    let Options::Directory(directory) = options else { return Vec::new() };
    let entries = std::fs::read_dir(directory.join("packs"));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains('#')).collect()
}

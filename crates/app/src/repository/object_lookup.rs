//! Looks up objects by id, and checks the ids of fetches. Only objects that a ref of the project reaches are found;
//! packs contain others.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_git::ObjectId;
use holdfast_git::protocol::upload::FetchRequest;
use holdfast_git::reachability::{self, SearchScope};
use holdfast_git::reader::{Kind, Reader};
use holdfast_store::cache::CachedRepository;

use super::fetch_slot::FetchSlot;
use super::objects;
use super::open_repository::OpenRepository;
use crate::{App, Error, Result};

/// The minimum length of an abbreviated id, as git itself abbreviates them at least. Shorter ones could be found by
/// guessing.
const MIN_ABBREVIATION: usize = 7;

/// Returns the object of that kind whose id begins with these digits, if exactly one is reachable. If none is, the time
/// that this takes does not depend on whether the id of an unreachable object begins so.
pub(crate) async fn find_reachable(
    app: &App,
    repository: &OpenRepository,
    hex: &str,
    kind: Kind,
) -> Result<Option<ObjectId>> {
    if hex.len() < MIN_ABBREVIATION || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let hex = hex.to_ascii_lowercase();
    if let Ok(id) = ObjectId::from_hex(hex.as_bytes())
        && is_cached(app, repository, id, kind)
    {
        return Ok(Some(id));
    }
    let candidates = objects::read(app, repository, move |reader| {
        let ids = match ObjectId::from_hex(hex.as_bytes()) {
            Ok(id) => HashSet::from([id]),
            Err(_) => reader.find_by_prefix(&hex)?,
        };
        let mut candidates = HashSet::new();
        for id in ids {
            if reader.kind(id)? == Some(kind) {
                candidates.insert(id);
            }
        }
        Ok(candidates)
    });
    let reachable = filter_reachable(app, repository, candidates.await?, kind, &mut None).await?;
    Ok(if reachable.len() == 1 { reachable.into_iter().next() } else { None })
}

/// Returns the commits among these ids that the packs of a repository contain, whether a ref reaches them or not. For the
/// import of records that name commits: the answer is not for users.
pub(crate) async fn find_commits(
    app: &App,
    repository: &OpenRepository,
    ids: HashSet<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    if ids.is_empty() {
        return Ok(ids);
    }
    let reading = objects::read(app, repository, move |reader| {
        let mut found = HashSet::new();
        for id in ids {
            if reader.kind(id)? == Some(Kind::Commit) {
                found.insert(id);
            }
        }
        Ok(found)
    });
    reading.await
}

/// Returns whether the object was found to be reachable at this generation.
fn is_cached(app: &App, repository: &OpenRepository, id: ObjectId, kind: Kind) -> bool {
    let key = (repository.project.repository.id, id, kind);
    app.git_runtime.reachable_cache.get(&key) == Some(repository.refs.generation)
}

/// Returns the ids that are reachable. `slot` is filled if a walk is needed and it is empty.
pub(super) async fn filter_reachable(
    app: &App,
    repository: &OpenRepository,
    ids: HashSet<ObjectId>,
    kind: Kind,
    slot: &mut Option<FetchSlot>,
) -> Result<HashSet<ObjectId>> {
    let (mut reachable, mut unverified) = (HashSet::new(), HashSet::new());
    for id in ids {
        let is_found = is_cached(app, repository, id, kind)
            || kind == Kind::Blob && is_in_default_branch(app, repository, id).await?;
        if is_found {
            reachable.insert(id);
        } else {
            unverified.insert(id);
        }
    }
    if !unverified.is_empty() || reachable.is_empty() {
        let slot = match slot {
            Some(slot) => slot,
            None => slot.insert(FetchSlot::acquire(app, repository).await?),
        };
        let tips: Vec<ObjectId> = repository.refs.tips().collect();
        let scope = if kind == Kind::Commit { SearchScope::Commits } else { SearchScope::Objects };
        let unreachable = reachability::find_unreachable(
            &app.git_runtime.git,
            &slot.cached_repository.bare,
            &tips,
            unverified.clone(),
            scope,
        )
        .await?;
        reachable.extend(unverified.difference(&unreachable));
    }
    for id in &reachable {
        app.git_runtime
            .reachable_cache
            .insert((repository.project.repository.id, *id, kind), repository.refs.generation);
    }
    Ok(reachable)
}

/// Number of recent commits that are searched before the whole history is walked: most commits that clients have are
/// among them.
const MAX_RECENT_COMMITS: usize = 2000;

/// Removes the claims (`have` and `shallow` lines) of a fetch to commits that no ref reaches. Git trusts these lines:
/// it would acknowledge the commits, leave out what they contain, use their objects as delta bases, and continue behind
/// them to deepen a shallow history. `wants` are the requested ids, which are reachable.
pub(super) async fn remove_unreachable_claims(
    app: &App,
    repository: &OpenRepository,
    fetch: &mut FetchRequest,
    wants: &HashSet<ObjectId>,
    slot: &mut Option<FetchSlot>,
) -> Result<()> {
    let claimed: HashSet<ObjectId> = fetch.haves.union(&fetch.shallow).copied().collect();
    if claimed.is_empty() {
        return Ok(());
    }
    let nearby_tips: Vec<ObjectId> = wants.iter().copied().chain(repository.refs.head_target()).collect();
    let search = move |reader: &Reader| {
        let mut commits = HashSet::new();
        for id in claimed {
            if reader.kind(id)? == Some(Kind::Commit) {
                commits.insert(id);
            }
        }
        let recent = reader.recent_among(nearby_tips.into_iter(), &commits, MAX_RECENT_COMMITS)?;
        Ok((commits.difference(&recent).copied().collect::<HashSet<_>>(), recent))
    };
    let (older, mut reachable) = objects::read(app, repository, search).await?;
    let unverified = exclude_tips(repository, older.clone());
    reachable.extend(older.difference(&unverified));
    if !unverified.is_empty() {
        reachable.extend(filter_reachable(app, repository, unverified, Kind::Commit, slot).await?);
    }
    Ok(fetch.retain_commits(&reachable).await?)
}

/// Maximum number of files of a default branch that are cached: a megabyte of ids.
const MAX_FILES: usize = 50_000;

/// Returns whether a blob is in the default branch, where most requested ones are. Searching the whole history takes
/// much longer.
async fn is_in_default_branch(app: &App, repository: &OpenRepository, id: ObjectId) -> Result<bool> {
    let Some(head) = repository.refs.head_target() else { return Ok(false) };
    let default_branch_blobs = app.git_runtime.default_branch_blobs.clone();
    objects::read(app, repository, move |reader| {
        let tree = reader.commit_tree_id(head)?;
        // One of several concurrent requests reads the tree, and the others wait for it.
        let files = default_branch_blobs.try_get_with(tree, || {
            let files = reader.list_file_ids(tree, MAX_FILES)?;
            Ok::<Arc<[ObjectId]>, holdfast_git::Error>(files.unwrap_or_default().into())
        });
        let files = files.map_err(|error| Error::Internal(error.into()))?;
        Ok(files.binary_search(&id).is_ok())
    })
    .await
}

/// Returns git's error for an id that may not be fetched. It does not reveal whether the object exists.
pub(super) fn not_our_ref(id: ObjectId) -> Error {
    Error::Rejected(format!("upload-pack: not our ref {id}"))
}

/// Maximum number of ids that are compared with each tip one by one. With a million refs this is much faster than
/// hashing every tip.
const MAX_LINEAR_SEARCH: usize = 16;

/// Returns the ids that no ref points at.
pub(super) fn exclude_tips(repository: &OpenRepository, mut wanted: HashSet<ObjectId>) -> HashSet<ObjectId> {
    if wanted.len() > MAX_LINEAR_SEARCH {
        repository.refs.tips().for_each(|tip| _ = wanted.remove(&tip));
        return wanted;
    }
    let mut remaining: Vec<ObjectId> = wanted.into_iter().collect();
    for tip in repository.refs.head_target().into_iter().chain(repository.refs.tips()) {
        if remaining.is_empty() {
            break;
        }
        remaining.retain(|id| *id != tip);
    }
    remaining.into_iter().collect()
}

/// Rejects ids that no ref of this project reaches, with the same error as for objects that do not exist.
pub(super) async fn check_reachable(
    app: &App,
    repository: &OpenRepository,
    cached_repository: &CachedRepository,
    wanted: HashSet<ObjectId>,
) -> Result<()> {
    let wanted = exclude_tips(repository, wanted);
    if wanted.is_empty() {
        return Ok(());
    }
    let first = *wanted.iter().next().expect("the empty set was handled above");
    let tips: Vec<ObjectId> = repository.refs.tips().collect();
    if reachability::are_all_reachable(&app.git_runtime.git, &cached_repository.bare, &tips, wanted).await? {
        Ok(())
    } else {
        Err(not_our_ref(first))
    }
}

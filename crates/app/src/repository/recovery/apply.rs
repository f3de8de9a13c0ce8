//! Applies a lost push again: its pack is checked like a newly received one, and its refs are updated like those of a
//! push.

use std::path::Path;
use std::sync::Arc;

use holdfast_domain::policy::InstanceAction;
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_git::connectivity::{self, KnownTips};
use holdfast_git::index_pack::{self, IndexedPack};
use holdfast_git::pack_file::{PackFile, PackSizes};
use holdfast_git::pack_scan::PackLimits;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::NoProgress;
use holdfast_git::reader::Reader;
use holdfast_git::{BareRepository, ObjectId, Quarantine, RefName, RefTarget};
use holdfast_store::repository::pack::{NewPack, PackBytes};
use holdfast_store::repository::ref_update::{RefUpdate, RefUpdateOrigin};

use super::{LostPush, LostPushState, open_recorded_project};
use crate::accounts::user;
use crate::repository::open_repository::OpenRepository;
use crate::repository::pack_download;
use crate::repository::refs::planned_update::PlannedUpdate;
use crate::repository::refs::ref_update::{self, RefUpdateBatch};
use crate::repository::transfer::push;
use crate::repository::transfer::receipt::Receipt;
use crate::{Actor, App, Error, Resource, Result, access};

fn damaged(lost: &LostPush, how: &str) -> Error {
    Error::Conflict(format!("{} {how}", lost.key))
}

/// Applies a lost push again and returns the number of updated refs. A second call returns a conflict, since the refs
/// no longer have their old values.
#[crate::boxed]
pub async fn apply(app: &App, actor: &Actor, lost: &LostPush) -> Result<usize> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let receipt = &lost.receipt;
    let LostPushState::Applicable { refs } = lost.state else {
        return Err(Error::Conflict("The refs of this push have been updated since".into()));
    };
    let repository = Arc::new(open_recorded_project(app, receipt).await?.ok_or(Error::NotFound(Resource::Project))?);
    let applicable = applicable_updates(&repository, receipt)?;
    // A push that was applied in part would be in the ref log, and the rest of it could not be applied later.
    if applicable.len() < refs {
        return Err(Error::Conflict(
            "The refs of this push do not have their old values: an earlier push may not have been recovered".into(),
        ));
    }
    let cached_repository = app.cached_repository(repository.project.repository.id, repository.refs.generation).await?;
    let quarantine = app.git_runtime.cache()?.quarantine(Some(&cached_repository.bare))?;
    let (pack, sizes) = download_pack(app, lost, &quarantine).await?;
    reject_disconnected(app, &repository, &quarantine, &pack, &applicable).await?;
    // No events are recorded for a user who has been deleted or blocked.
    let pusher = match receipt.user {
        Some(id) => user::actor_for_user(app, id.into()).await?,
        None => None,
    };
    let author = pusher.as_ref().and_then(|pusher| pusher.current_user().ok());
    let updates =
        read_updates(quarantine.repository().clone(), repository.clone(), applicable, author.is_some()).await?;
    // No upload intent is inserted: if this fails, the sweep must not delete the object.
    let bytes = lost.upload_intent.map_or_else(|| PackBytes::Recovered(lost.key.clone()), PackBytes::Uploaded);
    let origin =
        RefUpdateOrigin { user: pusher.as_ref().and_then(Actor::user_id), channel: RefUpdateChannel::Recovery };
    let new = NewPack { checksum: pack.checksum.clone(), sizes, bytes, is_cruft: false };
    let batch = RefUpdateBatch {
        is_atomic: receipt.atomic,
        pack: Some(new),
        // The push was accepted: a limit that was lowered since, or refs that were created since, must not lose its
        // refs.
        is_limited: false,
        ..RefUpdateBatch::new(&repository, updates, author, origin)
    };
    let result = ref_update::apply(app, batch).await?;
    push::update_local_cache(app, &cached_repository, &result, Some((&pack, sizes)), &repository).await;
    match result.rejections.iter().filter(|rejection| rejection.is_none()).count() {
        0 => Err(Error::Conflict(result.rejections.into_iter().flatten().next().unwrap_or_default().into())),
        count => Ok(count),
    }
}

/// Returns the updates of a receipt whose refs have their old values.
fn applicable_updates(repository: &OpenRepository, receipt: &Receipt) -> Result<ApplicableUpdates> {
    let unreadable = || Error::Conflict("The receipt of this push is malformed".into());
    let mut applicable = Vec::new();
    for update in &receipt.ref_updates {
        let name = RefName::parse(update.name.as_bytes()).map_err(|_| unreadable())?;
        let (old, new) = update.ids().ok_or_else(unreadable)?;
        if repository.refs.find(name.as_str()).map(|target| target.id) == old {
            applicable.push((name, old, new));
        }
    }
    Ok(applicable)
}

/// Downloads the pack of a lost push and indexes it again. The stored index files must be the same as the new ones.
async fn download_pack(app: &App, lost: &LostPush, quarantine: &Quarantine) -> Result<(IndexedPack, PackSizes)> {
    let sizes = PackSizes::from_list(&lost.receipt.sizes)
        .ok_or_else(|| damaged(lost, "was written by a later version of Holdfast"))?;
    let stem = quarantine.directory().join("lost");
    let content = app.objects.get(&lost.key).await?.ok_or_else(|| damaged(lost, "is no longer in the object store"))?;
    if !pack_download::write_files(content, sizes, &stem).await? {
        return Err(damaged(lost, "is truncated"));
    }
    let mut file = tokio::fs::File::open(stem.with_extension(PackFile::Pack.extension())).await?;
    // The pack was accepted under the limits of its time, so the current ones do not apply.
    let limits = PackLimits { max_pack_bytes: sizes.pack, max_object_bytes: u64::MAX, max_inflated_bytes: u64::MAX };
    let pack = index_pack::receive(&app.git_runtime.git, quarantine, &mut file, limits, &mut NoProgress).await?;
    let pack = pack.filter(|pack| pack.checksum == lost.receipt.checksum);
    let pack = pack.ok_or_else(|| damaged(lost, "is not the pack named in its receipt"))?;
    for file in [PackFile::Index, PackFile::ReverseIndex] {
        if !has_same_content(&stem.with_extension(file.extension()), &pack.file_path(file)).await? {
            return Err(damaged(lost, "has an index that does not match its pack"));
        }
    }
    Ok((pack, sizes))
}

async fn has_same_content(one: &Path, other: &Path) -> Result<bool> {
    Ok(tokio::fs::read(one).await? == tokio::fs::read(other).await?)
}

type ApplicableUpdates = Vec<(RefName, Option<ObjectId>, Option<ObjectId>)>;

async fn reject_disconnected(
    app: &App,
    repository: &OpenRepository,
    quarantine: &Quarantine,
    pack: &IndexedPack,
    applicable: &ApplicableUpdates,
) -> Result<()> {
    let pack = pack.clone();
    let reading = tokio::task::spawn_blocking(move || pack.received_objects());
    let received = reading.await.map_err(|panicked| Error::Internal(panicked.into()))??;
    let likely_tips: Vec<ObjectId> =
        applicable.iter().filter_map(|(_, old, _)| *old).chain(repository.refs.head_target()).collect();
    let new: Vec<ObjectId> = applicable.iter().filter_map(|(_, _, new)| *new).collect();
    let known_tips = KnownTips { likely: &likely_tips, all: &|| repository.refs.tips().collect() };
    if connectivity::is_connected(&app.git_runtime.git, quarantine.repository(), &new, known_tips, &received).await? {
        Ok(())
    } else {
        Err(Error::Conflict("The push depends on objects that are missing as well".into()))
    }
}

async fn read_updates(
    bare: BareRepository,
    repository: Arc<OpenRepository>,
    applicable: ApplicableUpdates,
    has_author: bool,
) -> Result<Vec<PlannedUpdate>> {
    let reading = tokio::task::spawn_blocking(move || {
        let reader = Reader::open(&bare)?;
        let target = |id: ObjectId| Ok::<RefTarget, Error>(reader.peel(id)?.0);
        let to_update = |(name, old, new): (RefName, _, Option<ObjectId>)| {
            Ok(RefUpdate { name, old, new: new.map(target).transpose()? })
        };
        let updates: Vec<RefUpdate> = applicable.into_iter().map(to_update).collect::<Result<_>>()?;
        // Without an author, no event is recorded that would list the commits.
        match has_author {
            true => PlannedUpdate::read_all(&reader, &repository, updates),
            false => Ok(updates.into_iter().map(PlannedUpdate::from).collect()),
        }
    });
    reading.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

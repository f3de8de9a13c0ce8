//! Applies ref updates. [`apply`] is the only code that updates refs, for pushes, the API and jobs. The refs of a new
//! fork are copied by `insert_fork` in `repository/repository.rs` of `store`.
//!
//! Everything that belongs to the updates is written in one transaction: the refs, the ref log, the pack, the events
//! and the jobs that follow. The statements are in `repository/ref_update.rs` of `store`.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_domain::repository::Rule;
use holdfast_git::RefName;
use holdfast_store::activity::event;
use holdfast_store::merge_requests::version::{self, PushedBranch};
use holdfast_store::repository::pack::{self, NewPack};
use holdfast_store::repository::ref_update::{self, RefUpdateOrigin};
use holdfast_store::repository::release::NewRelease;
use holdfast_store::repository::repository::LockedRepository;
use holdfast_store::repository::{protection, release, repository};
use holdfast_store::worker::close_issues::{self, IssueClosure};
use holdfast_store::worker::merge_requests::{self, BranchUpdate};
use holdfast_store::worker::pipelines::{self, PushedRef};
use holdfast_store::{Connection, commit};

pub use holdfast_store::repository::ref_update::RefUpdate;

use super::planned_update::PlannedUpdate;
use super::tag_permissions;
use crate::actor::CurrentUser;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Error, Result};

/// Ref updates that are applied in one transaction. A batch without updates only adds its pack.
pub struct RefUpdateBatch<'a> {
    pub repository: &'a OpenRepository,
    pub updates: Vec<PlannedUpdate>,
    /// The user who makes the updates. Without one no events are recorded, no issues closed and no pipelines created.
    pub author: Option<&'a CurrentUser>,
    /// Whether one rejection rejects all updates.
    pub is_atomic: bool,
    /// The pack with the new objects.
    pub pack: Option<NewPack>,
    /// The default branch of a repository that has none, if it is known. Otherwise it is chosen among the updates.
    pub default_branch: Option<&'a RefName>,
    pub origin: RefUpdateOrigin,
    /// The release of the tag that the only update creates.
    pub release: Option<NewRelease<'a>>,
    /// Whether an update makes unreachable objects reachable again.
    pub restores_unreachable: bool,
    /// Whether new refs beyond `git.max_refs` are rejected, and updates of tags that the author may not make.
    pub is_limited: bool,
}

impl<'a> RefUpdateBatch<'a> {
    /// Creates an atomic batch without new objects.
    pub fn new(
        repository: &'a OpenRepository,
        updates: Vec<PlannedUpdate>,
        author: Option<&'a CurrentUser>,
        origin: RefUpdateOrigin,
    ) -> Self {
        Self {
            repository,
            updates,
            author,
            is_atomic: true,
            pack: None,
            default_branch: None,
            origin,
            release: None,
            restores_unreachable: false,
            is_limited: true,
        }
    }
}

/// The reason for each update of a batch that is rejected, `None` for the others.
pub type Rejections = Vec<Option<&'static str>>;

pub struct RefUpdateResult {
    pub rejections: Rejections,
    /// `None` if no update was applied.
    pub committed: Option<CommittedUpdate>,
}

pub struct CommittedUpdate {
    pub generation: i64,
    pub pack: Option<PackId>,
}

pub const HEAD_DELETED: &str = "The default branch cannot be deleted.";
const ARCHIVED: &str = "The project is archived. Unarchive it to push to it.";
pub const STALE_OLD_VALUE: &str = "fetch first";
const NO_SUCH_REF: &str = "there is no such ref";
const NAME_CONFLICT: &str = "conflicts with an existing ref: one name is a path prefix of the other";
const TOO_MANY_REFS: &str = "the repository has the maximum number of refs (git.max_refs). Delete refs that are not needed, or \
                        ask an administrator to raise the limit";
const ATOMIC_FAILED: &str = "atomic push failed";
/// Maximum number of events that are written with one statement. Each takes some kilobytes of memory.
const EVENT_BATCH_SIZE: usize = 1000;

/// Applies a batch of ref updates and returns the rejections. Returns [`Error::PrunedConcurrently`] if a full repack or
/// a prune has begun since the repository was opened; the caller then opens it and checks the objects again.
pub(crate) async fn apply(app: &App, batch: RefUpdateBatch<'_>) -> Result<RefUpdateResult> {
    let mut transaction = app.database.begin().await?;
    let result = apply_in(app, &mut transaction, batch).await?;
    if result.committed.is_some() {
        commit(transaction).await?;
    }
    Ok(result)
}

/// Like [`apply`], but in a transaction of the caller, who commits it. The repository stays locked until then. The caller
/// has locked what comes before the repository in the order of locks.
pub(crate) async fn apply_in(
    app: &App,
    connection: &mut Connection,
    mut batch: RefUpdateBatch<'_>,
) -> Result<RefUpdateResult> {
    let now = app.clock.now();
    let locked = repository::lock(connection, batch.repository.project.repository.id).await?;
    let locked = locked.ok_or(Error::NotFound(crate::Resource::Project))?;
    let rejections = check(app, connection, &locked, &batch).await?;
    let has_updates = !batch.updates.is_empty();
    let mut is_accepted = rejections.iter().map(Option::is_none);
    batch.updates.retain(|_| is_accepted.next().unwrap_or_default());
    if has_updates && batch.updates.is_empty() {
        return Ok(RefUpdateResult { rejections, committed: None });
    }
    let new_default = match locked.head {
        None => batch.default_branch.or_else(|| choose_default_branch(&batch.updates)),
        Some(_) => None,
    };
    let generation = locked.generation + 1;
    let pack = write_batch(connection, &batch, generation, new_default, now).await?;
    let has_merge_requests = add_versions(connection, &batch, now).await?;
    if let Some(author) = batch.author {
        let default_ref = locked.head.as_deref().or(new_default.map(RefName::as_str));
        enqueue_jobs(connection, &batch, author, generation, default_ref).await?;
        if has_merge_requests {
            enqueue_merge_requests(connection, &batch, author).await?;
        }
        record_events(connection, &batch, author, new_default, now).await?;
    }
    Ok(RefUpdateResult { rejections, committed: Some(CommittedUpdate { generation, pack }) })
}

/// Checks a batch against the current state of its repository, which is locked.
async fn check(
    app: &App,
    connection: &mut Connection,
    locked: &LockedRepository,
    batch: &RefUpdateBatch<'_>,
) -> Result<Rejections> {
    let state = &batch.repository.project.repository;
    let updates: Vec<&RefUpdate> = batch.updates.iter().map(|it| &it.update).collect();
    if !repository::accepts_pushes(connection, state.id).await? {
        return match updates.len() {
            0 => Err(Error::Conflict(ARCHIVED.into())),
            count => Ok(vec![Some(ARCHIVED); count]),
        };
    }
    // A full repack or a prune has begun since the objects were checked; they may be gone.
    let has_objects = updates.is_empty() || updates.iter().any(|it| it.new.is_some());
    if has_objects && locked.prune_epoch != state.prune_epoch {
        return Err(Error::PrunedConcurrently);
    }
    let mut rejections = check_conflicts(connection, state.id, locked.head.as_deref(), &updates).await?;
    if batch.is_limited && batch.author.is_some() {
        // The rules are read while the repository is locked, and the old values have just been compared.
        let denied = tag_permissions::find_denied(connection, batch.repository, &updates).await?;
        rejections.iter_mut().zip(denied).for_each(|(rejection, denied)| *rejection = rejection.or(denied));
    }
    let created =
        updates.iter().zip(&rejections).filter(|(it, rejection)| is_creation(it) && rejection.is_none()).count();
    if batch.is_limited && created > 0 {
        let (refs, max_refs) = (&batch.repository.refs, app.git_runtime.settings.max_refs);
        // Another batch may have been applied since the refs were read.
        let is_current = refs.generation == locked.generation;
        let existing = match is_current || !is_near_limit(refs.len(), created, max_refs) {
            true => refs.len(),
            false => ref_update::count(connection, state.id).await?,
        };
        reject_excess_refs(&mut rejections, &updates, existing, max_refs);
    }
    if batch.is_atomic && rejections.iter().any(Option::is_some) {
        rejections.iter_mut().for_each(|rejection| *rejection = rejection.or(Some(ATOMIC_FAILED)));
    }
    Ok(rejections)
}

/// Writes a checked batch to the database: the pack, the refs and the ref log, releases, and the protection of a new
/// default branch. Returns the id of the pack.
async fn write_batch(
    connection: &mut Connection,
    batch: &RefUpdateBatch<'_>,
    generation: i64,
    new_default: Option<&RefName>,
    now: DateTime<Utc>,
) -> Result<Option<PackId>> {
    let project = &batch.repository.project;
    let id = project.repository.id;
    let updates: Vec<&RefUpdate> = batch.updates.iter().map(|it| &it.update).collect();
    let pack = match &batch.pack {
        Some(new) => {
            let added = pack::add(connection, id, new, now).await?;
            Some(added.ok_or_else(|| Error::Conflict("The push took too long; push again".into()))?)
        }
        None => None,
    };
    if batch.restores_unreachable {
        pack::clear_cruft_marks(connection, id).await?;
    }
    let head = new_default.map(RefName::as_str);
    ref_update::write(connection, id, generation, head, &updates, batch.origin, now).await?;
    let removed_tags: Vec<&str> =
        updates.iter().filter(|it| it.new.is_none()).filter_map(|it| it.name.as_tag()).collect();
    if !removed_tags.is_empty() {
        release::delete(connection, project.id, &removed_tags).await?;
    }
    if let (Some(new), [tag]) = (batch.release, &updates[..]) {
        release::insert(connection, project.id, tag.name.as_tag().unwrap_or_default(), new, now).await?;
    }
    if let Some(branch) = new_default.and_then(RefName::as_branch) {
        protection::upsert(connection, project.id, &Rule::masters_only(branch), now).await?;
    }
    Ok(pack)
}

/// Adds a version to the merge requests of the updated branches. Returns whether there are merge requests from or into one
/// of them.
async fn add_versions(connection: &mut Connection, batch: &RefUpdateBatch<'_>, now: DateTime<Utc>) -> Result<bool> {
    let project = &batch.repository.project;
    let mut branches = Vec::new();
    for RefUpdate { name, new, .. } in batch.updates.iter().map(|it| &it.update) {
        branches.extend(name.as_branch().map(|name| PushedBranch { name, tip: new.map(|new| new.id) }));
    }
    if branches.is_empty() {
        return Ok(false);
    }
    Ok(version::insert_pushed(connection, project.id, project.repository.id, &branches, now).await?)
}

async fn enqueue_merge_requests(
    connection: &mut Connection,
    batch: &RefUpdateBatch<'_>,
    author: &CurrentUser,
) -> Result<()> {
    let to_update = |it: &PlannedUpdate| {
        Some(BranchUpdate {
            branch: it.update.name.as_branch()?.to_owned(),
            old: it.update.old.map(|id| id.to_string()),
            new: it.update.new.map(|new| new.id.to_string()),
            is_refresh: false,
        })
    };
    let updates: Vec<BranchUpdate> = batch.updates.iter().filter_map(to_update).collect();
    Ok(merge_requests::enqueue(connection, batch.repository.project.id, author.account.id(), &updates).await?)
}

/// Enqueues the jobs that follow from a batch: closing the issues that commits on the default branch name, and creating
/// pipelines.
async fn enqueue_jobs(
    connection: &mut Connection,
    batch: &RefUpdateBatch<'_>,
    author: &CurrentUser,
    generation: i64,
    default_ref: Option<&str>,
) -> Result<()> {
    let (project, author) = (&batch.repository.project, author.account.id());
    if project.features.issues_enabled {
        let on_default_branch = batch.updates.iter().filter(|it| default_ref == Some(it.update.name.as_str()));
        let issue_closures: Vec<IssueClosure> = on_default_branch.flat_map(|it| it.commits.issue_closures()).collect();
        if !issue_closures.is_empty() {
            close_issues::enqueue(connection, project.id, author, &issue_closures).await?;
        }
    }
    if project.features.builds_enabled {
        let candidates = batch.updates.iter().filter(|it| it.may_get_pipeline);
        let pushed: Vec<PushedRef> = candidates.filter_map(|it| to_pushed(&it.update)).collect();
        if !pushed.is_empty() {
            pipelines::enqueue(connection, project.id, author, generation, &pushed).await?;
        }
    }
    Ok(())
}

/// Records one event for each update. The events are built in parts: a batch may have 60,000 updates.
async fn record_events(
    connection: &mut Connection,
    batch: &RefUpdateBatch<'_>,
    author: &CurrentUser,
    new_default: Option<&RefName>,
    now: DateTime<Utc>,
) -> Result<()> {
    let default_branch = new_default.and_then(RefName::as_branch);
    for chunk in batch.updates.chunks(EVENT_BATCH_SIZE) {
        let to_event = |it: &PlannedUpdate| it.commits.to_event(author, batch.repository, &it.update, default_branch);
        let events = chunk.iter().map(to_event).collect();
        let project = batch.repository.project.id;
        event::record_pushes(connection, project, author.account.id(), events, now).await?;
    }
    Ok(())
}

fn to_pushed(update: &RefUpdate) -> Option<PushedRef> {
    let (branch, tag) = (update.name.as_branch(), update.name.as_tag());
    let ref_name = branch.or(tag)?.to_owned();
    Some(PushedRef { ref_name, tag: tag.is_some(), sha: update.new?.peeled_or_self().to_string() })
}

/// Chooses the default branch: `main`, `master`, or the first branch of the updates.
fn choose_default_branch(updates: &[PlannedUpdate]) -> Option<&RefName> {
    let updates = || updates.iter().map(|it| &it.update);
    let created = || updates().filter(|it| it.new.is_some() && it.name.as_branch().is_some()).map(|it| &it.name);
    let usual = ["main", "master"].into_iter().find_map(|usual| created().find(|name| name.as_branch() == Some(usual)));
    usual.or_else(|| created().next())
}

fn is_creation(update: &RefUpdate) -> bool {
    update.new.is_some() && update.old.is_none()
}

/// Returns whether a batch is so large, or its repository was so full when it was read, that the refs must be counted
/// if another batch was applied since. Counting reads every ref while the repository is locked, so it is skipped below
/// half of the limit. Concurrent batches can exceed the limit by that much each; the next batch is rejected then.
fn is_near_limit(existing: usize, created: usize, max_refs: usize) -> bool {
    existing.saturating_add(created) > max_refs / 2
}

/// Rejects the new refs that exceed the limit, the last ones first. Refs that the same batch deletes do not count.
fn reject_excess_refs(
    rejections: &mut [Option<&'static str>],
    updates: &[&RefUpdate],
    existing: usize,
    max_refs: usize,
) {
    let deleted =
        updates.iter().zip(&*rejections).filter(|(it, rejection)| it.new.is_none() && rejection.is_none()).count();
    let mut count = existing.saturating_sub(deleted);
    for (_, rejection) in
        updates.iter().zip(rejections).filter(|(it, rejection)| is_creation(it) && rejection.is_none())
    {
        if count >= max_refs {
            *rejection = Some(TOO_MANY_REFS);
        } else {
            count += 1;
        }
    }
}

/// Compares the updates with the current refs and returns the rejections. The caller holds the row lock of the
/// repository, so the refs stay as they are until the end of the transaction.
async fn check_conflicts(
    connection: &mut Connection,
    id: RepositoryId,
    head: Option<&str>,
    updates: &[&RefUpdate],
) -> Result<Rejections> {
    let names: Vec<&str> = updates.iter().map(|it| it.name.as_str()).collect();
    let current = ref_update::find_current(connection, id, &names).await?;
    let mut rejections: Rejections = updates
        .iter()
        .map(|update| match (current.get(update.name.as_str()).copied(), update.old, update.new) {
            (None, _, None) => Some(NO_SUCH_REF),
            (Some(_), _, None) if head == Some(update.name.as_str()) => Some(HEAD_DELETED),
            (actual, expected, _) if actual != expected => Some(STALE_OLD_VALUE),
            _ => None,
        })
        .collect();

    let new: Vec<&str> = updates.iter().filter(|it| is_creation(it)).map(|it| it.name.as_str()).collect();
    if new.is_empty() {
        return Ok(rejections);
    }
    let directories: Vec<&str> =
        updates.iter().filter(|it| is_creation(it)).flat_map(|it| it.name.parent_names()).collect();
    let is_deletion = |(update, rejection): &(&&RefUpdate, &Option<_>)| update.new.is_none() && rejection.is_none();
    let deleted: Vec<&str> =
        updates.iter().zip(&rejections).filter(is_deletion).map(|(it, _)| it.name.as_str()).collect();
    let conflicting = ref_update::find_name_conflicts(connection, id, &new, &directories, &deleted).await?;
    // New refs of the same batch may also conflict with each other.
    let mut created_parents: HashSet<&str> = HashSet::new();
    let mut created_names: HashSet<&str> = HashSet::new();
    for (it, rejection) in updates.iter().zip(&mut rejections) {
        if !is_creation(it) || rejection.is_some() {
            continue;
        }
        let name = it.name.as_str();
        let prefix = format!("{name}/");
        let is_blocked = it
            .name
            .parent_names()
            .any(|directory| conflicting.contains(directory) || created_names.contains(directory))
            || conflicting.range(prefix.clone()..).next().is_some_and(|other| other.starts_with(&prefix))
            || created_parents.contains(name);
        if is_blocked {
            *rejection = Some(NAME_CONFLICT);
        } else {
            created_names.insert(name);
            created_parents.extend(it.name.parent_names());
        }
    }
    Ok(rejections)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counting takes time in proportion to the number of refs, and other updates wait for the row lock meanwhile.
    #[test]
    fn refs_are_counted_only_near_the_limit() {
        assert!(!is_near_limit(0, 1, 100_000));
        assert!(!is_near_limit(49_999, 1, 100_000));
        assert!(is_near_limit(50_000, 1, 100_000));
        assert!(is_near_limit(0, 50_001, 100_000), "a change may be large itself");
        assert!(is_near_limit(100_000, 1, 100_000));
        assert!(is_near_limit(usize::MAX, 1, usize::MAX));
        assert!(is_near_limit(0, 1, 1));
    }
}

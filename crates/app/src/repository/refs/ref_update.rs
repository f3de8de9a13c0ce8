//! Applies ref updates. [`apply`] is the only code that updates refs, for pushes, the API and jobs.
//!
//! Everything that belongs to the updates is written in one transaction: the refs, the ref log, the pack, the events
//! and the jobs that follow.

use std::collections::HashSet;

use holdfast_domain::ids::{PackId, RepositoryId};
use holdfast_domain::repository::Rule;
use holdfast_git::RefName;
use holdfast_store::activity::event;
use holdfast_store::repository::pack::{self, NewPack};
use holdfast_store::repository::ref_update::{self, RefUpdateOrigin};
use holdfast_store::repository::{protection, release, repository};
use holdfast_store::worker::close_issues::{self, IssueClosure};
use holdfast_store::worker::pipelines::{self, PushedRef};
use holdfast_store::{Connection, commit};

pub use holdfast_store::repository::ref_update::RefUpdate;

use crate::repository::open_repository::OpenRepository;
use crate::repository::transfer::push_event::PushDetails;
use crate::{App, Error, Result};

/// Ref updates that are applied in one transaction.
pub struct RefUpdateBatch<'a> {
    pub repository: &'a OpenRepository,
    pub updates: Vec<RefUpdate>,
    /// What the events of the updates are built from. `None` if no user makes the updates: then no events are recorded.
    pub details: Option<PushDetails>,
    /// Whether one rejection rejects all updates.
    pub is_atomic: bool,
    /// The pack with the new objects.
    pub pack: Option<NewPack>,
    /// The default branch of a repository that has none, if it is known. Otherwise it is chosen among the updates.
    pub default_branch: Option<&'a RefName>,
    pub origin: RefUpdateOrigin,
    /// The release notes of the tag that the only update creates.
    pub release_notes: Option<&'a str>,
    /// Indexes of the updates that may get a pipeline, because their commits may have a CI file.
    pub ci_candidates: Vec<usize>,
    /// Whether an update makes unreachable objects reachable again.
    pub restores_unreachable: bool,
    /// Whether new refs beyond `git.max_refs` are rejected.
    pub is_limited: bool,
}

impl<'a> RefUpdateBatch<'a> {
    /// Creates an atomic batch without new objects.
    pub fn new(
        repository: &'a OpenRepository,
        updates: Vec<RefUpdate>,
        details: Option<PushDetails>,
        origin: RefUpdateOrigin,
    ) -> Self {
        Self {
            repository,
            updates,
            details,
            is_atomic: true,
            pack: None,
            default_branch: None,
            origin,
            release_notes: None,
            ci_candidates: Vec::new(),
            restores_unreachable: false,
            is_limited: true,
        }
    }
}

pub struct RefUpdateResult {
    /// The reason for each update that was rejected, `None` for the others.
    pub rejections: Vec<Option<&'static str>>,
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
pub async fn apply(app: &App, batch: RefUpdateBatch<'_>) -> Result<RefUpdateResult> {
    let project = &batch.repository.project;
    let id = project.repository.id;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let locked = repository::lock(&mut transaction, id).await?;
    let locked = locked.ok_or(Error::NotFound(crate::Resource::Project))?;
    if !repository::accepts_pushes(&mut transaction, id).await? {
        return Ok(RefUpdateResult { rejections: vec![Some(ARCHIVED); batch.updates.len()], committed: None });
    }
    // A full repack or a prune has begun since the objects were checked; they may be gone.
    if locked.prune_epoch != project.repository.prune_epoch && batch.updates.iter().any(|it| it.new.is_some()) {
        return Err(Error::PrunedConcurrently);
    }
    let mut rejections = check_conflicts(&mut transaction, id, locked.head.as_deref(), &batch.updates).await?;
    let created =
        batch.updates.iter().zip(&rejections).filter(|(it, refusal)| is_creation(it) && refusal.is_none()).count();
    if batch.is_limited && created > 0 {
        let (refs, max_refs) = (&batch.repository.refs, app.git_runtime.settings.max_refs);
        // Another batch may have been applied since the refs were read.
        let is_current = refs.generation == locked.generation;
        let existing = match is_current || !is_near_limit(refs.len(), created, max_refs) {
            true => refs.len(),
            false => ref_update::count(&mut transaction, id).await?,
        };
        reject_excess_refs(&mut rejections, &batch.updates, existing, max_refs);
    }
    if batch.is_atomic && rejections.iter().any(Option::is_some) {
        rejections.iter_mut().for_each(|refusal| *refusal = refusal.or(Some(ATOMIC_FAILED)));
    }
    let is_accepted = |place: &usize| rejections[*place].is_none();
    let accepted: Vec<usize> = (0..batch.updates.len()).filter(is_accepted).collect();
    if accepted.is_empty() {
        return Ok(RefUpdateResult { rejections, committed: None });
    }
    let updates: Vec<RefUpdate> = accepted.iter().map(|place| batch.updates[*place].clone()).collect();

    let pack = match &batch.pack {
        Some(new) => {
            let added = pack::add(&mut transaction, id, new, now).await?;
            Some(added.ok_or_else(|| Error::Conflict("The push took too long; push again".into()))?)
        }
        None => None,
    };
    if batch.restores_unreachable {
        pack::clear_cruft_marks(&mut transaction, id).await?;
    }
    let new_default =
        if locked.head.is_none() { batch.default_branch.or_else(|| choose_default_branch(&updates)) } else { None };
    let head = new_default.map(RefName::as_str);
    let generation = locked.generation + 1;
    ref_update::apply(&mut transaction, id, generation, head, &updates, batch.origin, now).await?;
    let removed_tags: Vec<&str> =
        updates.iter().filter(|it| it.new.is_none()).filter_map(|it| it.name.as_tag()).collect();
    if !removed_tags.is_empty() {
        release::delete(&mut transaction, project.id, &removed_tags).await?;
    }
    if let (Some(notes), [tag]) = (batch.release_notes, &updates[..]) {
        release::insert(&mut transaction, project.id, tag.name.as_tag().unwrap_or_default(), notes, now).await?;
    }
    if let Some(branch) = new_default.and_then(RefName::as_branch) {
        protection::upsert(&mut transaction, project.id, &Rule::masters_only(branch), now).await?;
    }
    if let (Some(author), Some(details)) = (batch.origin.user, &batch.details) {
        if project.features.issues_enabled {
            let default_ref = locked.head.as_deref().or(head);
            let on_default_branch =
                accepted.iter().filter(|place| default_ref == Some(batch.updates[**place].name.as_str()));
            let issue_closures: Vec<IssueClosure> =
                on_default_branch.flat_map(|place| details.issue_closures(*place)).collect();
            if !issue_closures.is_empty() {
                close_issues::enqueue(&mut transaction, project.id, author, &issue_closures).await?;
            }
        }
        if project.features.builds_enabled {
            let candidates =
                batch.ci_candidates.iter().filter(|place| accepted.contains(place)).map(|place| &batch.updates[*place]);
            let pushed: Vec<PushedRef> = candidates.filter_map(to_pushed).collect();
            if !pushed.is_empty() {
                pipelines::enqueue(&mut transaction, project.id, author, generation, &pushed).await?;
            }
        }
        let default_branch = new_default.and_then(RefName::as_branch);
        for batch_indexes in accepted.chunks(EVENT_BATCH_SIZE) {
            let build_event =
                |place: &usize| details.to_event(batch.repository, *place, &batch.updates[*place], default_branch);
            let events = batch_indexes.iter().map(build_event).collect();
            event::record_pushes(&mut transaction, project.id, author, events, now).await?;
        }
    }
    commit(transaction).await?;
    Ok(RefUpdateResult { rejections, committed: Some(CommittedUpdate { generation, pack }) })
}

fn to_pushed(update: &RefUpdate) -> Option<PushedRef> {
    let (branch, tag) = (update.name.as_branch(), update.name.as_tag());
    let ref_name = branch.or(tag)?.to_owned();
    Some(PushedRef { ref_name, tag: tag.is_some(), sha: update.new?.peeled_or_self().to_string() })
}

/// Chooses the default branch: `main`, `master`, or the first branch of the updates.
fn choose_default_branch(updates: &[RefUpdate]) -> Option<&RefName> {
    let created = || updates.iter().filter(|it| it.new.is_some() && it.name.as_branch().is_some()).map(|it| &it.name);
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
    updates: &[RefUpdate],
    existing: usize,
    max_refs: usize,
) {
    let deleted =
        updates.iter().zip(&*rejections).filter(|(it, refusal)| it.new.is_none() && refusal.is_none()).count();
    let mut count = existing.saturating_sub(deleted);
    for (_, refusal) in updates.iter().zip(rejections).filter(|(it, refusal)| is_creation(it) && refusal.is_none()) {
        if count >= max_refs {
            *refusal = Some(TOO_MANY_REFS);
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
    updates: &[RefUpdate],
) -> Result<Vec<Option<&'static str>>> {
    let names: Vec<&str> = updates.iter().map(|it| it.name.as_str()).collect();
    let current = ref_update::find_current(connection, id, &names).await?;
    let mut rejections: Vec<Option<&'static str>> = updates
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
    let is_deletion = |(update, refusal): &(&RefUpdate, &Option<_>)| update.new.is_none() && refusal.is_none();
    let deleted: Vec<&str> =
        updates.iter().zip(&rejections).filter(is_deletion).map(|(it, _)| it.name.as_str()).collect();
    let conflicting = ref_update::find_name_conflicts(connection, id, &new, &directories, &deleted).await?;
    // New refs of the same batch may also conflict with each other.
    let mut created_parents: HashSet<&str> = HashSet::new();
    let mut created_names: HashSet<&str> = HashSet::new();
    for (it, refusal) in updates.iter().zip(&mut rejections) {
        if !is_creation(it) || refusal.is_some() {
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
            *refusal = Some(NAME_CONFLICT);
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

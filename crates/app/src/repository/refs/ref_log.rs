//! Lists the ref log: who updated which ref, and when.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::TagProtection;
use holdfast_git::ObjectId;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::reader::{Kind, Reader};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::{protection, ref_log, tag_protection};

pub use holdfast_git::reader::HistoryChange;
pub use holdfast_store::repository::ref_log::RefLogEntry;

use super::ref_update_policy::RefUpdatePolicy;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Result, access};

/// A ref log entry, and whether its ref can be restored to the old value.
#[derive(Clone, Debug)]
pub struct RestorableEntry {
    pub entry: RefLogEntry,
    pub is_restorable: bool,
}

/// A page of the ref log with its project.
#[derive(Debug)]
pub struct RefLogPage {
    pub project: Project,
    pub entries: Page<RefLogRow>,
    /// How long an update can be restored.
    pub restore_period: TimeDelta,
}

/// A ref log entry, and how its update changed the history of the ref.
#[derive(Clone, Debug)]
pub struct RefLogRow {
    pub entry: RefLogEntry,
    /// Whether the refs, the time and the permissions of the actor allow a restore.
    pub can_restore: bool,
    /// Whether the old and the new value are retained, so that they can be compared.
    pub is_retained: bool,
    /// None unless the ref pointed at a commit before and after the update.
    pub change: Option<HistoryChange>,
}

/// Maximum number of commits that are searched to find out how one update changed a history.
const MAX_SEARCHED_COMMITS: usize = 500;

/// Like [`list`], with the project, and with the change of the history by each update.
#[crate::boxed]
pub async fn list_with_changes(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: Option<&str>,
    page: PageRequest,
) -> Result<RefLogPage> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadRefLog).await?;
    let name = name.map(full_name);
    let found = ref_log::list(&app.database, repository.project.repository.id, name.as_deref(), page).await?;
    let now = app.clock.now();
    let values: Vec<(Option<ObjectId>, Option<ObjectId>)> = found
        .items
        .iter()
        .map(|entry| if is_past_restore_period(app, entry, now) { (None, None) } else { (entry.old, entry.new) })
        .collect();
    let mut changes = objects::read(app, &repository, move |reader| {
        Ok(values.into_iter().map(|(old, new)| find_change(reader, old?, new?)).collect::<Vec<_>>().into_iter())
    })
    .await?;
    let can_write = access::is_authorized(actor, &repository.project, ProjectAction::WriteCode);
    let mut connection = app.database.connection().await?;
    let rules = protection::list(&mut connection, repository.project.id).await?;
    let tag_rules = tag_protection::list_all(&mut connection, repository.project.id).await?;
    drop(connection);
    let policy = RefUpdatePolicy::new(actor, &repository, rules).for_restore();
    let can_set_tag = |tag: &str| TagProtection::for_tag(&tag_rules, tag).can_create(repository.effective_level);
    let entries = found.map(|entry| RefLogRow {
        can_restore: can_write
            && is_restorable(app, &repository, &entry, now)
            && policy.can_restore(&restore_command(&entry))
            && entry.name.strip_prefix("refs/tags/").is_none_or(can_set_tag),
        is_retained: !is_past_restore_period(app, &entry, now),
        change: changes.next().flatten(),
        entry,
    });
    Ok(RefLogPage { project: repository.project, entries, restore_period: app.settings.maintenance.ref_restore_period })
}

/// Returns the update that restores the value before an entry.
pub(super) fn restore_command(entry: &RefLogEntry) -> PushCommand {
    PushCommand { name: entry.name.as_str().into(), old: entry.new, new: entry.old }
}

/// Returns how an update changed the history. Returns None if a value is not a commit, or has been pruned.
fn find_change(reader: &Reader, old: ObjectId, new: ObjectId) -> Option<HistoryChange> {
    let is_commit = |id| reader.kind(id).is_ok_and(|kind| kind == Some(Kind::Commit));
    if !is_commit(old) || !is_commit(new) {
        return None;
    }
    reader.history_change(old, new, MAX_SEARCHED_COMMITS).ok()
}

/// Returns the commit with this id if an update of this generation changed a ref from or to it, within the time in which
/// updates can be restored. No ref need reach it any longer. Returns None if the actor may not read the ref log.
pub(crate) async fn find_retained_commit(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    id: &str,
    generation: i64,
) -> Result<Option<ObjectId>> {
    let Ok(id) = ObjectId::from_hex(id.as_bytes()) else { return Ok(None) };
    if !access::is_authorized(actor, &repository.project, ProjectAction::ReadRefLog) {
        return Ok(None);
    }
    let mut connection = app.database.connection().await?;
    let created_at =
        ref_log::find_time_of_value(&mut connection, repository.project.repository.id, generation, id).await?;
    drop(connection);
    let period = app.settings.maintenance.ref_restore_period;
    if created_at.is_none_or(|created_at| app.clock.now() - created_at > period) {
        return Ok(None);
    }
    objects::read(app, repository, move |reader| {
        Ok(match reader.kind(id)? {
            None => None,
            Some(_) => {
                let (target, kind) = reader.peel(id)?;
                (kind == Kind::Commit).then(|| target.peeled_or_self())
            }
        })
    })
    .await
}

/// Lists the ref log of a project, newest first, or that of one ref if a name is given.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: Option<&str>,
    page: PageRequest,
) -> Result<Page<RestorableEntry>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadRefLog).await?;
    let name = name.map(full_name);
    let found = ref_log::list(&app.database, repository.project.repository.id, name.as_deref(), page).await?;
    let now = app.clock.now();
    Ok(found.map(|entry| RestorableEntry { is_restorable: is_restorable(app, &repository, &entry, now), entry }))
}

/// Returns whether the refs and the time allow a restore. Whether the objects still exist is checked when the ref is
/// restored.
fn is_restorable(app: &App, repository: &OpenRepository, entry: &RefLogEntry, now: DateTime<Utc>) -> bool {
    let current = repository.refs.find(&entry.name).map(|target| target.id);
    entry.old.is_some() && current == entry.new && !is_past_restore_period(app, entry, now)
}

pub(super) fn is_past_restore_period(app: &App, entry: &RefLogEntry, now: DateTime<Utc>) -> bool {
    now - entry.created_at > app.settings.maintenance.ref_restore_period
}

/// Returns the full name of a ref. A name without `refs/` is that of a branch.
pub(super) fn full_name(name: &str) -> String {
    if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") }
}

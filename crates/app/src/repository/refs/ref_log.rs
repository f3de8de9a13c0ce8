//! Lists the ref log: who updated which ref, and when.

use chrono::{DateTime, Utc};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::ref_log;

pub use holdfast_store::repository::ref_log::RefLogEntry;

use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Result};

/// A ref log entry, and whether its ref can be restored to the old value.
#[derive(Clone, Debug)]
pub struct RestorableEntry {
    pub entry: RefLogEntry,
    pub is_restorable: bool,
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

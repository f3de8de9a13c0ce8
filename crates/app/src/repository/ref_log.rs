//! Who moved which ref, and when.

use chrono::{DateTime, Utc};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::ref_log;

pub use holdfast_store::repository::ref_log::Entry;

use super::fetch::{self, Opened};
use crate::{Actor, App, Result};

/// A move, and whether its ref can be put back to where it was before.
#[derive(Clone, Debug)]
pub struct Shown {
    pub entry: Entry,
    pub restorable: bool,
}

/// The last first; of one ref, if one is named.
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: Option<&str>,
    page: PageRequest,
) -> Result<Page<Shown>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadRefLog).await?;
    let name = name.map(full_name);
    let found = ref_log::list(&app.database, opened.project.repository.id, name.as_deref(), page).await?;
    let now = app.clock.now();
    Ok(found.map(|entry| Shown { restorable: is_restorable(app, &opened, &entry, now), entry }))
}

/// By what the refs and the clock say; whether the objects are there is seen when somebody wants them.
fn is_restorable(app: &App, opened: &Opened, entry: &Entry, now: DateTime<Utc>) -> bool {
    let is_at = opened.refs.find(&entry.name).map(|target| target.id);
    entry.old.is_some() && is_at == entry.new && !is_too_late(app, entry, now)
}

pub(super) fn is_too_late(app: &App, entry: &Entry, now: DateTime<Utc>) -> bool {
    now - entry.created_at > app.settings.maintenance.undo
}

/// What is no whole name is a branch.
pub(super) fn full_name(name: &str) -> String {
    if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") }
}

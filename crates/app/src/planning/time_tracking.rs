//! Estimated and spent time of issues and merge requests.

use holdfast_domain::Violations;
use holdfast_domain::planning::{format_work_time, parse_work_time};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::INVALID;
use holdfast_store::planning::note as notes;
use holdfast_store::planning::time_tracking;

pub use holdfast_store::planning::time_tracking::TimeStats;

use super::note::{self, NoteTarget};
use crate::accounts::user::lock_author;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Resource, Result, access};

/// A change of the times. The durations are as users write them, such as `3h30m`.
#[derive(Clone, Debug)]
pub enum TimeChange {
    SetEstimate(String),
    ResetEstimate,
    /// A duration with a minus sign is subtracted.
    AddSpent(String),
    ResetSpent,
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, target: NoteTarget) -> Result<TimeStats> {
    let mut connection = app.database.connection().await?;
    let action = note::read_action(target);
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    note::find_noteable(&mut connection, actor, &project, target).await?;
    time_tracking::find(&mut connection, target).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Changes the times and adds a system note about it.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    target: NoteTarget,
    change: TimeChange,
) -> Result<TimeStats> {
    let action = match target {
        NoteTarget::Issue(_) => ProjectAction::ManageIssues,
        NoteTarget::MergeRequest(_) => ProjectAction::ManageMergeRequests,
    };
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    note::lock_noteable(&mut transaction, actor, &project, target).await?;
    let before = time_tracking::find(&mut transaction, target).await?.ok_or(Error::NotFound(Resource::Record))?;
    let (after, system_note) = apply(before, change)?;
    let (author, now) = (lock_author(&mut transaction, actor).await?, app.clock.now());
    time_tracking::update(&mut transaction, target, after, now).await?;
    notes::insert_system(&mut transaction, target, author, &[system_note], now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(after)
}

/// Returns the new times and the text of the system note. Neither of the times can be negative.
fn apply(before: TimeStats, change: TimeChange) -> Result<(TimeStats, String)> {
    let display = |seconds: i64| format_work_time(seconds).unwrap_or_else(|| "0m".into());
    let (after, system_note) = match change {
        TimeChange::SetEstimate(duration) => {
            let time_estimate = parse(&duration)?;
            let text = format!("changed time estimate to {}", display(time_estimate));
            (TimeStats { time_estimate, ..before }, text)
        }
        TimeChange::ResetEstimate => (TimeStats { time_estimate: 0, ..before }, "removed time estimate".into()),
        TimeChange::AddSpent(duration) => {
            let added = parse(&duration)?;
            let time_spent = before.time_spent.checked_add(added).ok_or_else(invalid)?;
            let verb = if added < 0 { "subtracted" } else { "added" };
            let seconds = added.checked_abs().ok_or_else(invalid)?;
            (TimeStats { time_spent, ..before }, format!("{verb} {} of time spent", display(seconds)))
        }
        TimeChange::ResetSpent => (TimeStats { time_spent: 0, ..before }, "removed time spent".into()),
    };
    if after.time_estimate < 0 || after.time_spent < 0 {
        return Err(invalid());
    }
    Ok((after, system_note))
}

fn parse(duration: &str) -> Result<i64> {
    parse_work_time(duration).ok_or_else(invalid)
}

fn invalid() -> Error {
    let mut violations = Violations::default();
    violations.add("duration", INVALID);
    violations.into()
}

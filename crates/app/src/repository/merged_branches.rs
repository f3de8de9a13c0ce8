//! Deleting the branches whose work is in the default branch, as a job.

use std::collections::HashSet;

use holdfast_domain::ids::{JobId, ProjectId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Protection, Rule};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::{ObjectId, RefName};
use holdfast_store::commit as commit_transaction;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_change::{Move, Mover};
use holdfast_store::worker::{job, merged_branches};

use super::fetch::{self, Opened};
use super::objects;
use super::push_details::PushDetails;
use super::ref_change::{self, Change};
use crate::accounts::user;
use crate::{Actor, App, Error, Result};

/// Begins it.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef) -> Result<()> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    let user = actor.caller()?.account.id();
    let mut transaction = app.database.begin().await?;
    let project = &opened.project;
    merged_branches::enqueue(&mut transaction, project.id, &project.full_path(), user, app.clock.now()).await?;
    Ok(commit_transaction(transaction).await?)
}

/// Who may no longer push by now deletes nothing.
pub(crate) async fn run(app: &App, id: JobId, project: ProjectId, user: UserId) -> Result<()> {
    if let Some(actor) = user::acting(app, user).await? {
        match delete_all(app, id, &actor, project).await {
            Err(Error::NotFound(_) | Error::Forbidden(_)) => {}
            done => done?,
        }
    }
    job::finish(&mut *app.database.connection().await?, id, app.clock.now()).await?;
    Ok(())
}

/// In one transaction each.
const BATCH: usize = 100;

async fn delete_all(app: &App, id: JobId, actor: &Actor, project: ProjectId) -> Result<()> {
    let opened = fetch::open(app, actor, &ProjectRef::Id(project), ProjectAction::WriteCode).await?;
    let merged = merged(app, &opened).await?;
    let caller = actor.caller()?;
    job::set_total(&mut *app.database.connection().await?, id, merged.len() as i64).await?;
    for some in merged.chunks(BATCH) {
        // One may have been protected meanwhile.
        let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
        let some: Vec<Move> = some.iter().filter(|it| !is_protected(&rules, it.name.as_str())).cloned().collect();
        let details = Some(PushDetails::without_commits(caller));
        let mover = Mover { user: Some(caller.account.id()), via: "api" };
        // One that has moved meanwhile stays, and so do not all the others.
        let change = Change { atomic: false, ..Change::new(&opened, some, details, mover) };
        let changed = ref_change::apply(app, change).await?;
        let gone = changed.refusals.iter().filter(|refusal| refusal.is_none()).count();
        job::advance(&mut *app.database.connection().await?, id, gone as i64).await?;
    }
    Ok(())
}

/// A branch at the very commit of the default branch is not merged: nothing was done on it yet.
async fn merged(app: &App, opened: &Opened) -> Result<Vec<Move>> {
    let Some(head) = opened.refs.head_target() else { return Ok(Vec::new()) };
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    let removable = |name: &str| name != opened.refs.head() && !is_protected(&rules, name);
    let branches: Vec<(RefName, ObjectId)> = opened
        .refs
        .with_prefix(BRANCHES)
        .filter(|(name, target)| target.id != head && removable(name))
        .map(|(name, target)| (RefName::trusted(name), target.id))
        .collect();
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    let tips: HashSet<ObjectId> = branches.iter().map(|(_, tip)| *tip).collect();
    let merged = objects::read(app, opened, move |reader| Ok(reader.merged(head, &tips)?)).await?;
    let gone = branches.into_iter().filter(|(_, tip)| merged.contains(tip));
    Ok(gone.map(|(name, tip)| Move { name, old: Some(tip), new: None }).collect())
}

fn is_protected(rules: &[Rule], name: &str) -> bool {
    Protection::of(rules, name.strip_prefix(BRANCHES).unwrap_or(name)).protected
}

const BRANCHES: &str = "refs/heads/";

//! Runners, as people manage them.

use chrono::TimeDelta;
use holdfast_domain::Violations;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::violations::INVALID;
use holdfast_store::ci::runner::{self, Of};
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::runner::{Attributes, Runner};

use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, Thing, access};

const NO_ACCESS: Error = Error::Forbidden(Some("No access granted"));
/// A runner with more is shown with so many of its projects.
const SHOWN_PROJECTS: i64 = 100;
/// One not heard of for longer is not there.
const ONLINE: TimeDelta = TimeDelta::hours(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Active,
    Paused,
    Online,
    Specific,
    Shared,
}

fn scope(app: &App, scope: Scope) -> runner::Scope {
    match scope {
        Scope::Active => runner::Scope::Active,
        Scope::Paused => runner::Scope::Paused,
        Scope::Online => runner::Scope::Online(app.clock.now() - ONLINE),
        Scope::Specific => runner::Scope::Specific,
        Scope::Shared => runner::Scope::Shared,
    }
}

/// Of projects that the caller manages.
pub async fn list(app: &App, actor: &Actor, only: Option<Scope>, page: PageRequest) -> Result<Page<Runner>> {
    access::instance(actor, InstanceAction::ReadRunners)?;
    let user = actor.caller()?.account.id();
    let of = Of::Managed { user, today: app.today() };
    Ok(runner::list(&app.database, of, only.map(|it| scope(app, it)), page).await?)
}

pub async fn list_all(app: &App, actor: &Actor, only: Option<Scope>, page: PageRequest) -> Result<Page<Runner>> {
    access::instance(actor, InstanceAction::ManageRunners)?;
    Ok(runner::list(&app.database, Of::Everybody, only.map(|it| scope(app, it)), page).await?)
}

/// The project's own, and everybody's.
pub async fn list_of_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    only: Option<Scope>,
    page: PageRequest,
) -> Result<Page<Runner>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    drop(connection);
    Ok(runner::list(&app.database, Of::Project(project.id), only.map(|it| scope(app, it)), page).await?)
}

/// A runner, and those of its projects that the caller sees.
pub struct Detail {
    pub runner: Runner,
    pub projects: Vec<Project>,
}

/// Whether the caller is a master of one of its projects, and those of them that the caller sees.
async fn standing(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    runner: &Runner,
) -> Result<(bool, Vec<Project>)> {
    let (mut manages, mut seen) = (false, Vec::new());
    for id in runner::projects(connection, runner.id, SHOWN_PROJECTS).await? {
        let found = access::project(app, connection, actor, &ProjectRef::Id(id), ProjectAction::Read).await;
        match found {
            Ok(project) => {
                manages = manages || access::may(actor, &project, ProjectAction::ManageCi);
                seen.push(project);
            }
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((manages, seen))
}

async fn detail(app: &App, connection: &mut Connection, actor: &Actor, runner: Runner) -> Result<Detail> {
    let (_, projects) = standing(app, connection, actor, &runner).await?;
    Ok(Detail { runner, projects })
}

pub async fn show(app: &App, actor: &Actor, id: RunnerId) -> Result<Detail> {
    access::instance(actor, InstanceAction::ReadRunners)?;
    let mut connection = app.database.connection().await?;
    let found = runner::find(&mut connection, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    let (manages, projects) = standing(app, &mut connection, actor, &found).await?;
    if !found.shared && !manages && !actor.is_administrator() {
        return Err(hidden(&projects));
    }
    Ok(Detail { runner: found, projects })
}

/// Who sees none of its projects does not see the runner either.
fn hidden(seen: &[Project]) -> Error {
    if seen.is_empty() { Error::NotFound(Thing::Record) } else { NO_ACCESS }
}

/// Locked, for a caller who may change it.
async fn open(app: &App, connection: &mut Connection, actor: &Actor, id: RunnerId) -> Result<Runner> {
    access::instance(actor, InstanceAction::ReadRunners)?;
    let found = runner::lock(connection, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    if actor.is_administrator() {
        return Ok(found);
    }
    if found.shared {
        return Err(Error::Forbidden(Some("Runner is shared")));
    }
    let (manages, seen) = standing(app, connection, actor, &found).await?;
    if manages { Ok(found) } else { Err(hidden(&seen)) }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerChanges {
    pub description: Option<String>,
    pub active: Option<bool>,
    pub tags: Option<Vec<String>>,
    pub run_untagged: Option<bool>,
    pub locked: Option<bool>,
}

pub async fn update(app: &App, actor: &Actor, id: RunnerId, changes: RunnerChanges) -> Result<Detail> {
    let mut transaction = app.database.begin().await?;
    let now = open(app, &mut transaction, actor, id).await?;
    let attributes = Attributes {
        description: changes.description.or(now.description),
        active: changes.active.unwrap_or(now.active),
        locked: changes.locked.unwrap_or(now.locked),
        run_untagged: changes.run_untagged.unwrap_or(now.run_untagged),
        tags: changes.tags.map_or(now.tags, tidy),
        longest_run: now.longest_run,
    };
    check(&attributes)?;
    runner::update(&mut transaction, id, &attributes).await?;
    let saved = runner::find(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    let detail = detail(app, &mut transaction, actor, saved).await?;
    commit(transaction).await?;
    Ok(detail)
}

pub fn tidy(tags: Vec<String>) -> Vec<String> {
    let mut tags: Vec<String> = tags.iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// More are of no use to anybody.
const MOST_TAGS: usize = 50;

pub(super) fn check(it: &Attributes) -> Result<()> {
    let mut violations = Violations::default();
    if it.tags.is_empty() && !it.run_untagged {
        violations.add("tags_list", "can not be empty when runner is not allowed to pick untagged jobs");
    }
    if it.tags.len() > MOST_TAGS || it.tags.iter().any(|tag| tag.len() > 255 || tag.contains('\0')) {
        violations.add("tags_list", INVALID);
    }
    if let Some(description) = &it.description {
        violations.check_line("description", description);
    }
    if it.longest_run.is_some_and(|seconds| seconds < 600) {
        violations.add("maximum_timeout", "needs to be at least 10 minutes");
    }
    Ok(violations.into_result()?)
}

pub async fn delete(app: &App, actor: &Actor, id: RunnerId) -> Result<Runner> {
    let mut transaction = app.database.begin().await?;
    let found = open(app, &mut transaction, actor, id).await?;
    if !actor.is_administrator() && runner::projects(&mut transaction, id, 2).await?.len() > 1 {
        return Err(Error::Forbidden(Some("Runner associated with more than one project")));
    }
    runner::delete(&mut transaction, id).await?;
    commit(transaction).await?;
    Ok(found)
}

/// For a project of the caller, a runner that serves another of his.
pub async fn assign(app: &App, actor: &Actor, project: &ProjectRef, id: RunnerId) -> Result<Runner> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = open(app, &mut transaction, actor, id).await?;
    if found.shared {
        return Err(Error::Forbidden(Some("Runner is shared")));
    }
    if found.locked {
        return Err(Error::Forbidden(Some("Runner is locked")));
    }
    if !runner::assign(&mut transaction, id, project.id).await? {
        return Err(Error::Conflict("Runner was already enabled for this project".into()));
    }
    commit(transaction).await?;
    Ok(found)
}

pub async fn unassign(app: &App, actor: &Actor, project: &ProjectRef, id: RunnerId) -> Result<Runner> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = runner::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    let projects = runner::projects(&mut transaction, id, i64::MAX).await?;
    if !projects.contains(&project.id) {
        return Err(Error::NotFound(Thing::Record));
    }
    if projects.len() == 1 {
        let reason = "Only one project associated with the runner. Please remove the runner instead";
        return Err(Error::Forbidden(Some(reason)));
    }
    runner::unassign(&mut transaction, id, project.id).await?;
    commit(transaction).await?;
    Ok(found)
}

/// What registers runners for everybody.
pub async fn registration_token(app: &App, actor: &Actor) -> Result<String> {
    access::instance(actor, InstanceAction::ManageRunners)?;
    Ok(runner::registration_token(&mut *app.database.connection().await?).await?)
}

/// Another one; runners that are registered stay.
pub async fn reset_registration_token(app: &App, actor: &Actor) -> Result<String> {
    access::instance(actor, InstanceAction::ManageRunners)?;
    let token = app.entropy.hex::<20>();
    runner::set_registration_token(&mut *app.database.connection().await?, &token).await?;
    Ok(token)
}

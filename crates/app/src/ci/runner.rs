//! Management of runners by users. Use cases of the runners themselves are in [`super::runner_api`].

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_domain::Violations;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::violations::INVALID;
use holdfast_store::ci::runner::{self, LastContact, RegistrationScope, RunnerScope};
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::runner::{Runner, RunnerAttributes, RunnerInfo};

use super::runner_api::RegisteredRunner;
use crate::accounts::secret::digest;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

const NO_ACCESS: Error = Error::Forbidden(Some("No access granted"));
pub(super) const SEVERAL_PROJECTS: Error = Error::Forbidden(Some("Runner associated with more than one project"));
/// Maximum number of projects of a runner that are loaded to show it and to check permissions.
const MAX_LISTED_PROJECTS: i64 = 100;
/// A runner without contact for longer than this is offline.
pub(super) const ONLINE_WINDOW: TimeDelta = TimeDelta::hours(1);
/// A runner without contact for longer than this is stale.
const OFFLINE_WINDOW: TimeDelta = TimeDelta::days(7);

/// Whether a runner contacts the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerStatus {
    Online,
    Offline,
    /// Offline for more than a week.
    Stale,
    NeverContacted,
}

impl RunnerStatus {
    pub fn of(runner: &Runner, now: DateTime<Utc>) -> Self {
        match runner.contacted_at {
            None => Self::NeverContacted,
            Some(at) if at > now - ONLINE_WINDOW => Self::Online,
            Some(at) if at > now - OFFLINE_WINDOW => Self::Offline,
            Some(_) => Self::Stale,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
            Self::Stale => "stale",
            Self::NeverContacted => "never_contacted",
        }
    }

    fn last_contact(self, now: DateTime<Utc>) -> LastContact {
        match self {
            Self::Online => LastContact::After(now - ONLINE_WINDOW),
            Self::Offline => LastContact::Between(now - OFFLINE_WINDOW, now - ONLINE_WINDOW),
            Self::Stale => LastContact::Until(now - OFFLINE_WINDOW),
            Self::NeverContacted => LastContact::Never,
        }
    }
}

/// A filter of a list of runners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerFilter {
    Active,
    Paused,
    Online,
    Specific,
    Shared,
    All(RunnerConditions),
}

/// The conditions that all listed runners satisfy. None does not restrict the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerConditions {
    pub is_active: Option<bool>,
    pub is_shared: Option<bool>,
    pub status: Option<RunnerStatus>,
    /// Tags that the runner has.
    pub tags: Vec<String>,
}

fn store_filter(app: &App, filter: Option<RunnerFilter>) -> runner::RunnerFilter {
    let conditions = match filter {
        None => RunnerConditions::default(),
        Some(RunnerFilter::Active) => RunnerConditions { is_active: Some(true), ..Default::default() },
        Some(RunnerFilter::Paused) => RunnerConditions { is_active: Some(false), ..Default::default() },
        Some(RunnerFilter::Online) => RunnerConditions { status: Some(RunnerStatus::Online), ..Default::default() },
        Some(RunnerFilter::Specific) => RunnerConditions { is_shared: Some(false), ..Default::default() },
        Some(RunnerFilter::Shared) => RunnerConditions { is_shared: Some(true), ..Default::default() },
        Some(RunnerFilter::All(conditions)) => conditions,
    };
    let RunnerConditions { is_active, is_shared, status, tags } = conditions;
    let last_contact = status.map(|status| status.last_contact(app.clock.now()));
    let tags = normalize_tags(tags);
    runner::RunnerFilter { is_active, is_shared, last_contact, tags, ..Default::default() }
}

/// Lists the runners of projects that the current user manages.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, filter: Option<RunnerFilter>, page: PageRequest) -> Result<Page<Runner>> {
    access::authorize_instance(actor, InstanceAction::ReadRunners)?;
    let user = actor.current_user()?.account.id();
    let scope = RunnerScope::ManagedBy { user, today: app.today() };
    Ok(runner::list(&app.database, scope, &store_filter(app, filter), page).await?)
}

/// Lists all runners of the instance.
#[crate::boxed]
pub async fn list_all(
    app: &App,
    actor: &Actor,
    filter: Option<RunnerFilter>,
    page: PageRequest,
) -> Result<Page<Runner>> {
    access::authorize_instance(actor, InstanceAction::ManageRunners)?;
    Ok(runner::list(&app.database, RunnerScope::All, &store_filter(app, filter), page).await?)
}

/// Lists the runners of a project, and shared runners.
#[crate::boxed]
pub async fn list_for_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    filter: Option<RunnerFilter>,
    page: PageRequest,
) -> Result<Page<Runner>> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    Ok(runner::list(&app.database, RunnerScope::Project(project.id), &store_filter(app, filter), page).await?)
}

/// A runner, and those of its projects that the actor may see.
pub struct RunnerWithProjects {
    pub runner: Runner,
    pub projects: Vec<Project>,
}

/// Returns whether the actor manages CI in one of the runner's projects, and those of its projects that the actor may
/// see.
async fn management_rights(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    runner: &Runner,
) -> Result<(bool, Vec<Project>)> {
    let (mut is_manager, mut visible) = (false, Vec::new());
    for id in runner::list_project_ids(connection, runner.id, MAX_LISTED_PROJECTS).await? {
        let found = access::authorize_project(app, connection, actor, &ProjectRef::Id(id), ProjectAction::Read).await;
        match found {
            Ok(project) => {
                is_manager = is_manager || access::can(actor, &project, ProjectAction::ManageCi);
                visible.push(project);
            }
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((is_manager, visible))
}

async fn with_projects(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    runner: Runner,
) -> Result<RunnerWithProjects> {
    let (_, projects) = management_rights(app, connection, actor, &runner).await?;
    Ok(RunnerWithProjects { runner, projects })
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, id: RunnerId) -> Result<RunnerWithProjects> {
    access::authorize_instance(actor, InstanceAction::ReadRunners)?;
    let mut connection = app.database.connection().await?;
    let found = runner::find(&mut connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let (is_manager, projects) = management_rights(app, &mut connection, actor, &found).await?;
    if !found.shared && !is_manager && !actor.is_administrator() {
        return Err(access_denied(&projects));
    }
    Ok(RunnerWithProjects { runner: found, projects })
}

/// Returns the error for an actor without access to a runner: the runner is not found if none of its projects are
/// visible.
fn access_denied(visible: &[Project]) -> Error {
    if visible.is_empty() { Error::NotFound(Resource::Record) } else { NO_ACCESS }
}

/// Locks a runner that the actor may change.
async fn lock(app: &App, connection: &mut Connection, actor: &Actor, id: RunnerId) -> Result<Runner> {
    access::authorize_instance(actor, InstanceAction::ReadRunners)?;
    let found = runner::lock(connection, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    if actor.is_administrator() {
        return Ok(found);
    }
    if found.shared {
        return Err(Error::Forbidden(Some("Runner is shared")));
    }
    let (is_manager, visible) = management_rights(app, connection, actor, &found).await?;
    if is_manager { Ok(found) } else { Err(access_denied(&visible)) }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnerChanges {
    pub description: Option<String>,
    pub active: Option<bool>,
    pub tags: Option<Vec<String>>,
    pub run_untagged: Option<bool>,
    pub locked: Option<bool>,
}

/// Applies changes to a runner that the caller has locked.
pub(super) async fn apply_changes(connection: &mut Connection, current: Runner, changes: RunnerChanges) -> Result<()> {
    let attributes = RunnerAttributes {
        description: changes.description.or(current.description),
        active: changes.active.unwrap_or(current.active),
        locked: changes.locked.unwrap_or(current.locked),
        run_untagged: changes.run_untagged.unwrap_or(current.run_untagged),
        tags: changes.tags.map_or(current.tags, normalize_tags),
        max_run_seconds: current.max_run_seconds,
    };
    check_attributes(&attributes)?;
    Ok(runner::update(connection, current.id, &attributes).await?)
}

#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, id: RunnerId, changes: RunnerChanges) -> Result<RunnerWithProjects> {
    let mut transaction = app.database.begin().await?;
    let current = lock(app, &mut transaction, actor, id).await?;
    apply_changes(&mut transaction, current, changes).await?;
    let saved = runner::find(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let detail = with_projects(app, &mut transaction, actor, saved).await?;
    commit(transaction).await?;
    Ok(detail)
}

pub fn normalize_tags(tags: Vec<String>) -> Vec<String> {
    let mut tags: Vec<String> = tags.iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// Maximum number of tags of a runner. Arbitrary.
const MAX_TAGS: usize = 50;

pub(super) fn check_attributes(attributes: &RunnerAttributes) -> Result<()> {
    let mut violations = Violations::default();
    if attributes.tags.is_empty() && !attributes.run_untagged {
        violations.add("tags_list", "can not be empty when runner is not allowed to pick untagged jobs");
    }
    if attributes.tags.len() > MAX_TAGS || attributes.tags.iter().any(|tag| tag.len() > 255 || tag.contains('\0')) {
        violations.add("tags_list", INVALID);
    }
    if let Some(description) = &attributes.description {
        violations.check_single_line("description", description);
    }
    if attributes.max_run_seconds.is_some_and(|seconds| seconds < 600) {
        violations.add("maximum_timeout", "needs to be at least 10 minutes");
    }
    Ok(violations.into_result()?)
}

/// The beginning of the tokens of runners that users create. Runner programs recognize by it that they need not
/// register.
const CREATED_TOKEN_PREFIX: &str = "glrt-";

/// Creates a runner and returns its token, with which a runner program can start at once. Without a project it is a
/// shared runner, which only administrators may create.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: Option<&ProjectRef>,
    attributes: RunnerAttributes,
) -> Result<RegisteredRunner> {
    let mut transaction = app.database.begin().await?;
    let scope = match project {
        None => {
            access::authorize_instance(actor, InstanceAction::ManageRunners)?;
            RegistrationScope::Instance
        }
        Some(project) => {
            let action = ProjectAction::ManageCi;
            RegistrationScope::Project(access::lock_project(app, &mut transaction, actor, project, action).await?.id)
        }
    };
    let attributes = RunnerAttributes { tags: normalize_tags(attributes.tags), ..attributes };
    check_attributes(&attributes)?;
    let token = format!("{CREATED_TOKEN_PREFIX}{}", app.entropy.hex::<20>());
    let info = RunnerInfo::default();
    let now = app.clock.now();
    let id = runner::insert(&mut transaction, &scope, &digest(&token), &attributes, &info, now).await?;
    commit(transaction).await?;
    Ok(RegisteredRunner { id, token })
}

#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, id: RunnerId) -> Result<Runner> {
    let mut transaction = app.database.begin().await?;
    let found = lock(app, &mut transaction, actor, id).await?;
    if !actor.is_administrator() && runner::list_project_ids(&mut transaction, id, 2).await?.len() > 1 {
        return Err(SEVERAL_PROJECTS);
    }
    runner::delete(&mut transaction, id).await?;
    commit(transaction).await?;
    Ok(found)
}

/// Assigns a runner to a project. The actor must manage CI in the project, and be allowed to change the runner.
#[crate::boxed]
pub async fn assign(app: &App, actor: &Actor, project: &ProjectRef, id: RunnerId) -> Result<Runner> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = lock(app, &mut transaction, actor, id).await?;
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

#[crate::boxed]
pub async fn unassign(app: &App, actor: &Actor, project: &ProjectRef, id: RunnerId) -> Result<Runner> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = runner::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let projects = runner::list_project_ids(&mut transaction, id, i64::MAX).await?;
    if !projects.contains(&project.id) {
        return Err(Error::NotFound(Resource::Record));
    }
    if projects.len() == 1 {
        let reason = "Only one project associated with the runner. Please remove the runner instead";
        return Err(Error::Forbidden(Some(reason)));
    }
    runner::unassign(&mut transaction, id, project.id).await?;
    commit(transaction).await?;
    Ok(found)
}

/// Returns the registration token of the instance, which registers shared runners.
#[crate::boxed]
pub async fn registration_token(app: &App, actor: &Actor) -> Result<String> {
    access::authorize_instance(actor, InstanceAction::ManageRunners)?;
    Ok(runner::registration_token(&mut *app.database.connection().await?).await?)
}

/// Replaces the registration token of the instance. Registered runners are not affected.
#[crate::boxed]
pub async fn reset_registration_token(app: &App, actor: &Actor) -> Result<String> {
    access::authorize_instance(actor, InstanceAction::ManageRunners)?;
    let token = app.entropy.hex::<20>();
    runner::set_registration_token(&mut *app.database.connection().await?, &token).await?;
    Ok(token)
}

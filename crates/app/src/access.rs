//! The permission door. A use case gets the thing it works on from here, already checked: what the actor may not see
//! does not exist (404), what it may see but not do is forbidden (403).

use holdfast_domain::AccessLevel;
use holdfast_domain::policy::{Feature, GroupAction, InstanceAction, ProjectAction, Standing};
use holdfast_store::Connection;
use holdfast_store::ci::job_token_allowlist;
use holdfast_store::namespaces::group::{self, Group, GroupRef};
use holdfast_store::namespaces::namespace;
use holdfast_store::projects::project::{self, Project, ProjectRef};

use crate::actor::{BuildScope, Caller};
use crate::{Actor, App, Error, Result, Thing};

pub fn instance(actor: &Actor, action: InstanceAction) -> Result<()> {
    if action.allowed(actor.standing()) { Ok(()) } else { Err(actor.refusal()) }
}

/// The caller's own account.
pub fn account(actor: &Actor) -> Result<&Caller> {
    instance(actor, InstanceAction::ManageOwnAccount)?;
    actor.caller()
}

pub async fn group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<Group> {
    Ok(group_and_level(app, connection, actor, group, action).await?.0)
}

/// The same, with the level the caller has in the group.
pub async fn group_and_level(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<(Group, Option<AccessLevel>)> {
    let found = group::find_with_level(connection, group, actor.user_id(), app.today()).await?;
    let (group, level) = found.ok_or(Error::NotFound(Thing::Group))?;
    let allowed = |action: GroupAction| action.allowed(group.visibility, actor.standing(), level);
    if !allowed(GroupAction::Read) && !is_member_within(app, connection, actor, &group).await? {
        return Err(Error::NotFound(Thing::Group));
    }
    // Who is in one of its projects sees the group as if it were visible to all, and no more than that project in it.
    let reads = actor.user_id().is_some() && matches!(action, GroupAction::Read | GroupAction::ReadIssues);
    if !reads && !allowed(action) {
        return Err(actor.refusal());
    }
    Ok((group, level))
}

async fn is_member_within(app: &App, connection: &mut Connection, actor: &Actor, group: &Group) -> Result<bool> {
    match actor.user_id() {
        Some(user) => Ok(group::has_project_of(connection, group.id, user, app.today()).await?),
        None => Ok(false),
    }
}

/// The same, with the group locked until the end of the transaction: what was allowed when it was asked for is still
/// allowed when it is done, and nobody else changes the group or its members meanwhile.
pub async fn locked_group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<Group> {
    let id = self::group(app, connection, actor, group, action).await?.id;
    group::lock(connection, id).await?;
    self::group(app, connection, actor, &GroupRef::Id(id), action).await
}

pub async fn project(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<Project> {
    let found = project::find(connection, project, actor.user_id(), app.today()).await?;
    authorize(connection, found.ok_or(Error::NotFound(Thing::Project))?, actor, action).await
}

/// The same, with the project locked until the end of the transaction.
pub async fn locked_project(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<Project> {
    let id = match project {
        ProjectRef::Id(id) => *id,
        ProjectRef::Path { .. } => self::project(app, connection, actor, project, action).await?.id,
    };
    if let Some(found) = project::find_unlocked(connection, id, actor.user_id(), app.today()).await? {
        return authorize(connection, found, actor, action).await;
    }
    // There is none, or somebody is at it: wait only for what the caller may change, and look again afterwards.
    self::project(app, connection, actor, &ProjectRef::Id(id), action).await?;
    project::lock(connection, id).await?;
    self::project(app, connection, actor, &ProjectRef::Id(id), action).await
}

/// The same, with the project's namespace held before it: neither changes its visibility nor goes until the end of the
/// transaction. Whoever takes both takes the namespace first.
pub async fn locked_project_in_place(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<Project> {
    let before = self::project(app, connection, actor, project, action).await?;
    namespace::hold(connection, before.namespace.id).await?;
    let locked = locked_project(app, connection, actor, &ProjectRef::Id(before.id), action).await?;
    if locked.namespace.id != before.namespace.id {
        return Err(Error::Conflict("The project was moved meanwhile, please try again".into()));
    }
    Ok(locked)
}

/// What the actor could do beside what it was let in for.
pub(crate) fn may(actor: &Actor, project: &Project, action: ProjectAction) -> bool {
    action.allowed(project.visibility, actor.standing(), project.level())
}

/// Returns the project if the actor may do this with it.
async fn authorize(
    connection: &mut Connection,
    project: Project,
    actor: &Actor,
    action: ProjectAction,
) -> Result<Project> {
    if let Some(build) = actor.build_of()
        && !admits_build(connection, &project, build).await?
    {
        return Err(Error::NotFound(Thing::Project));
    }
    checked(project, actor, action)
}

/// Returns whether a project lets a build in. What the build's user may read is a question of its own: both must be
/// allowed, since whoever writes the script of a build is not always its user.
async fn admits_build(connection: &mut Connection, project: &Project, build: BuildScope) -> Result<bool> {
    let is_public = ProjectAction::ReadCode.allowed(project.visibility, Standing::Anonymous, None);
    if project.id == build.project || is_public {
        return Ok(true);
    }
    Ok(build.has_users_rights && job_token_allowlist::contains(connection, project.id, build.project).await?)
}

fn checked(project: Project, actor: &Actor, action: ProjectAction) -> Result<Project> {
    // Its own project a build reads whoever started it.
    let is_own = actor.build_of().is_some_and(|build| build.project == project.id);
    if !is_own && !may(actor, &project, ProjectAction::Read) {
        return Err(Error::NotFound(Thing::Project));
    }
    if actor.build_of().is_some() && action != ProjectAction::ReadCode {
        return Err(Error::Forbidden(Some("A build may only download code")));
    }
    if is_own {
        return Ok(project);
    }
    // Whoever asks, an administrator too.
    if let Some(feature) = action.needs().filter(|feature| !has(&project, *feature)) {
        return Err(Error::Forbidden(Some(feature.missing())));
    }
    if !may(actor, &project, action) || (action == ProjectAction::ReadBuilds && !sees_builds(actor, &project)) {
        return Err(actor.refusal());
    }
    if project.archived && action.adds_content() {
        return Err(Error::Forbidden(Some("The project is archived: unarchive it to add to it")));
    }
    Ok(project)
}

fn sees_builds(actor: &Actor, project: &Project) -> bool {
    project.features.public_builds || actor.is_administrator() || project.level() >= Some(AccessLevel::Reporter)
}

/// Whether it is switched on in the project.
pub(crate) fn has(project: &Project, feature: Feature) -> bool {
    let features = project.features;
    match feature {
        Feature::Issues => features.issues_enabled,
        Feature::Builds => features.builds_enabled,
        Feature::IssuesOrMergeRequests => features.issues_enabled || features.merge_requests_enabled,
    }
}

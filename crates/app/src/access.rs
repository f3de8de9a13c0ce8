//! Permission checks of use cases.
//!
//! A use case loads groups and projects through this module, which returns them only after the check. A group or
//! project that the actor may not see is reported as not found (404). An action that the actor may not perform on
//! something visible is forbidden (403), or requires authentication (401) if the actor is anonymous.
//!
//! [`deploy_key`] has the rules for deploy keys, which are no users.
//!
//! `access.rs` of `http` only declares which permission a route requires. It checks nothing.

mod deploy_key;

use holdfast_domain::AccessLevel;
use holdfast_domain::policy::{Feature, GroupAction, InstanceAction, InstanceRole, ProjectAction};
use holdfast_store::Connection;
use holdfast_store::ci::job_token_allowlist;
use holdfast_store::namespaces::group::{self, Group, GroupRef};
use holdfast_store::namespaces::namespace;
use holdfast_store::projects::project::{self, Project, ProjectRef};

use crate::actor::{CurrentUser, JobTokenScope};
use crate::{Actor, App, Error, Resource, Result};

pub(crate) use deploy_key::{find_client, find_push_author};

/// Fails unless the actor's role allows this action on the instance.
pub fn authorize_instance(actor: &Actor, action: InstanceAction) -> Result<()> {
    let is_allowed = action.is_allowed(actor.role()) && !matches!(actor, Actor::DeployKey(_));
    if is_allowed { Ok(()) } else { Err(actor.access_denied()) }
}

/// Fails unless the actor may list public projects and groups.
pub(crate) fn authorize_exploration(app: &App, actor: &Actor) -> Result<()> {
    authorize_instance(actor, InstanceAction::ExplorePublic)?;
    match actor {
        Actor::Anonymous(_) if !app.settings.web.public_projects => Err(actor.access_denied()),
        _ => Ok(()),
    }
}

/// Returns the current user, who must be allowed to manage their own account.
pub fn authorize_own_account(actor: &Actor) -> Result<&CurrentUser> {
    authorize_instance(actor, InstanceAction::ManageOwnAccount)?;
    actor.current_user()
}

/// Fails if the request was sent with a token that somebody else created for the user. When that token is revoked, no other
/// credential of a user may remain.
pub(crate) fn ensure_may_create_credentials(actor: &Actor) -> Result<()> {
    match actor {
        Actor::User(user) if user.has_delegated_token => Err(Error::Forbidden(Some(
            "Impersonation tokens and access tokens of projects and groups cannot create users, keys or tokens",
        ))),
        Actor::User(_) | Actor::Anonymous(_) | Actor::Operator | Actor::DeployKey(_) => Ok(()),
    }
}

/// Loads a group and checks that the actor may perform this action on it.
#[crate::boxed]
pub async fn authorize_group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<Group> {
    Ok(authorize_group_with_level(app, connection, actor, group, action).await?.0)
}

/// Like [`authorize_group`], but also returns the access level of the actor in the group.
#[crate::boxed]
pub async fn authorize_group_with_level(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<(Group, Option<AccessLevel>)> {
    if matches!(actor, Actor::DeployKey(_)) {
        return Err(Error::NotFound(Resource::Group));
    }
    let found = match actor.prefetched().and_then(|prefetched| prefetched.take_group(group)) {
        Some(found) => Some(found),
        None => group::find_with_level(connection, group, actor.user_id(), app.today()).await?,
    };
    let found = found.ok_or(Error::NotFound(Resource::Group))?;
    let (level, group) = (found.level(), found.group);
    let is_allowed = |action: GroupAction| action.is_allowed(group.visibility, actor.role(), level);
    if !is_allowed(GroupAction::Read) && !is_member_within(app, connection, actor, &group).await? {
        return Err(Error::NotFound(Resource::Group));
    }
    // A member of one of the group's projects may read the group as if it were visible to all. The lists inside the
    // group are filtered by what this viewer may see.
    let is_read = actor.user_id().is_some()
        && matches!(action, GroupAction::Read | GroupAction::ReadIssues | GroupAction::ReadMergeRequests);
    if !is_read && !is_allowed(action) {
        return Err(actor.access_denied());
    }
    Ok((group, level))
}

/// Returns whether the actor may perform an action in a group that it has been authorized to read. `level` is its level in
/// the group.
pub fn is_authorized_in_group(actor: &Actor, group: &Group, level: Option<AccessLevel>, action: GroupAction) -> bool {
    !matches!(actor, Actor::DeployKey(_)) && action.is_allowed(group.visibility, actor.role(), level)
}

async fn is_member_within(app: &App, connection: &mut Connection, actor: &Actor, group: &Group) -> Result<bool> {
    match actor.user_id() {
        Some(user) => Ok(group::has_project_member(connection, group.id, user, app.today()).await?),
        None => Ok(false),
    }
}

/// Like [`authorize_group`], but locks the group until the end of the transaction. The permission is checked again
/// under the lock, and nobody else changes the group or its members until the commit.
#[crate::boxed]
pub async fn lock_group(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    group: &GroupRef,
    action: GroupAction,
) -> Result<Group> {
    let id = self::authorize_group(app, connection, actor, group, action).await?.id;
    group::lock(connection, id).await?;
    self::authorize_group(app, connection, actor, &GroupRef::Id(id), action).await
}

/// Loads a project and checks that the actor may perform this action on it.
#[crate::boxed]
pub async fn authorize_project(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<Project> {
    let found = match actor.prefetched().and_then(|prefetched| prefetched.take_project(project)) {
        Some(found) => Some(found),
        None => project::find(connection, project, actor.user_id(), app.today()).await?,
    };
    authorize_loaded(app, connection, found.ok_or(Error::NotFound(Resource::Project))?, actor, action).await
}

/// Like [`authorize_project`], for use cases that need no connection for anything else. None is acquired if the project
/// was read together with the token.
#[crate::boxed]
pub async fn read_project(app: &App, actor: &Actor, project: &ProjectRef, action: ProjectAction) -> Result<Project> {
    let prefetched = actor.prefetched().and_then(|prefetched| prefetched.take_project(project));
    match prefetched {
        // The rights of a build also depend on other projects, but a build's project is never prefetched.
        Some(found) if actor.job_token_scope().is_none() => check_policy(found, actor, action),
        _ => self::authorize_project(app, &mut *app.database.connection().await?, actor, project, action).await,
    }
}

/// Like [`authorize_project`], but locks the project until the end of the transaction.
#[crate::boxed]
pub async fn lock_project(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<Project> {
    // The locked row is read anew, so that only the id of a prefetched project is used.
    let prefetched = actor.prefetched().and_then(|prefetched| prefetched.take_project(project));
    let id = match (project, prefetched) {
        (ProjectRef::Id(id), _) => *id,
        (ProjectRef::Path { .. }, Some(found)) => found.id,
        (ProjectRef::Path { .. }, None) => self::authorize_project(app, connection, actor, project, action).await?.id,
    };
    if let Some(found) = project::try_lock(connection, id, actor.user_id(), app.today()).await? {
        return authorize_loaded(app, connection, found, actor, action).await;
    }
    // The project does not exist, or another transaction holds the row lock. Check the permission before waiting for
    // the lock, so that only actors who may change the project wait, and again afterwards, because the row may have
    // changed.
    self::authorize_project(app, connection, actor, &ProjectRef::Id(id), action).await?;
    project::lock(connection, id).await?;
    self::authorize_project(app, connection, actor, &ProjectRef::Id(id), action).await
}

/// Like [`lock_project`], but first locks the project's namespace (`FOR SHARE`). Until the end of the transaction
/// neither of them is deleted or changes its visibility. Code that locks both must lock the namespace first.
#[crate::boxed]
pub async fn lock_project_and_namespace(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    project: &ProjectRef,
    action: ProjectAction,
) -> Result<Project> {
    let before = self::authorize_project(app, connection, actor, project, action).await?;
    namespace::lock_shared(connection, before.namespace.id).await?;
    let locked = lock_project(app, connection, actor, &ProjectRef::Id(before.id), action).await?;
    if locked.namespace.id != before.namespace.id {
        return Err(Error::Conflict("The project was transferred during the request; try again".into()));
    }
    Ok(locked)
}

/// Returns whether the actor may perform an action on a project that it has been authorized to read. Takes features and
/// archiving into account.
pub fn is_authorized(actor: &Actor, project: &Project, action: ProjectAction) -> bool {
    check_action(project, actor, action).is_ok()
}

/// Returns whether the actor's role and access level allow an action on a project that it has been authorized for.
/// Ignores features and whether the project is archived.
pub(crate) fn can(actor: &Actor, project: &Project, action: ProjectAction) -> bool {
    action.is_allowed(project.visibility, actor.role(), project.level())
}

/// The part of [`authorize_project`] after the project was loaded. A build needs the consent of the project, and a deploy
/// key a link to it. Then [`check_policy`] applies to every actor.
async fn authorize_loaded(
    app: &App,
    connection: &mut Connection,
    project: Project,
    actor: &Actor,
    action: ProjectAction,
) -> Result<Project> {
    if let Some(build) = actor.job_token_scope()
        && !is_build_allowed(connection, &project, build, action).await?
    {
        return Err(if is_code_public(&project) { actor.access_denied() } else { Error::NotFound(Resource::Project) });
    }
    let project = match actor {
        Actor::DeployKey(key) => deploy_key::authorize(app, connection, key, project, action).await?,
        Actor::Anonymous(_) | Actor::Operator | Actor::User(_) => project,
    };
    check_policy(project, actor, action)
}

/// Returns whether the project allows the build to read it. It does if it is the build's own project, if everybody may
/// read the same (the code of a public project, and its builds if they are public, too), or if it has the build's
/// project on its job token allow list.
///
/// [`check_policy`] also checks that the action is one of those that builds may perform, and, except in the build's own
/// project, the permissions of the user that the build acts as. The latter are not enough: another user may have
/// written the script of the build, and would read what only the first may read.
async fn is_build_allowed(
    connection: &mut Connection,
    project: &Project,
    build: JobTokenScope,
    action: ProjectAction,
) -> Result<bool> {
    let is_public = is_code_public(project) && (action != ProjectAction::ReadBuilds || project.features.public_builds);
    if project.id == build.project || is_public {
        return Ok(true);
    }
    Ok(build.has_users_rights && job_token_allowlist::contains(connection, project.id, build.project).await?)
}

fn is_code_public(project: &Project) -> bool {
    ProjectAction::ReadCode.is_allowed(project.visibility, InstanceRole::Anonymous, None)
}

/// The part of [`authorize_project`] that needs no database: checks role, access level, features and archiving, and
/// returns the project.
fn check_policy(project: Project, actor: &Actor, action: ProjectAction) -> Result<Project> {
    check_action(&project, actor, action)?;
    Ok(project)
}

fn check_action(project: &Project, actor: &Actor, action: ProjectAction) -> Result<()> {
    // A build may read the code and the builds of its own project, regardless of the user that it acts as.
    let is_own = actor.job_token_scope().is_some_and(|build| build.project == project.id);
    if !is_own && !can(actor, project, ProjectAction::Read) {
        return Err(Error::NotFound(Resource::Project));
    }
    let is_open_to_builds = matches!(action, ProjectAction::ReadCode | ProjectAction::ReadBuilds);
    if actor.job_token_scope().is_some() && !is_open_to_builds {
        return Err(Error::Forbidden(Some("A build may only read code and builds")));
    }
    if is_own {
        return Ok(());
    }
    // A disabled feature is not available to administrators either.
    if let Some(feature) = action.required_feature().filter(|feature| !is_feature_enabled(project, *feature)) {
        return Err(Error::Forbidden(Some(feature.disabled_message())));
    }
    if !can(actor, project, action) || (action == ProjectAction::ReadBuilds && !can_see_builds(actor, project)) {
        return Err(actor.access_denied());
    }
    if project.archived && action.adds_content() {
        return Err(Error::Forbidden(Some("The project is archived. Unarchive it to change its content")));
    }
    Ok(())
}

fn can_see_builds(actor: &Actor, project: &Project) -> bool {
    project.features.public_builds || actor.is_administrator() || project.level() >= Some(AccessLevel::Reporter)
}

pub(crate) fn is_feature_enabled(project: &Project, feature: Feature) -> bool {
    let features = project.features;
    match feature {
        Feature::Issues => features.issues_enabled,
        Feature::Builds => features.builds_enabled,
        Feature::MergeRequests => features.merge_requests_enabled,
        Feature::IssuesOrMergeRequests => features.issues_enabled || features.merge_requests_enabled,
    }
}

//! Transfer of a project to another namespace. The transfer of objects and refs with git is in `repository::transfer`.
//!
//! Administrators move a project to any group with [`transfer`]. Owners of a project move it with [`transfer_own`] to a
//! namespace in which they may create projects.

use holdfast_domain::activity::Action;
use holdfast_domain::ids::NamespaceId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{GroupAction, InstanceAction, ProjectAction};
use holdfast_domain::{AccessLevel, Violations, Visibility};
use holdfast_store::Connection;
use holdfast_store::accounts::user;
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::namespaces::group::{Group, GroupRef};
use holdfast_store::namespaces::member;
use holdfast_store::namespaces::namespace::{self, CreationTarget, Namespace};
use holdfast_store::projects::{fork, project, redirect, share};

use super::project::{Project, ProjectRef, can_create_in, commit_and_reload, is_below_project_limit, load};
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Resource, Result, access, events};

/// Moves a project to a group. The visibility of the project and of its forks is lowered to that of the group.
#[crate::boxed]
pub async fn transfer(app: &App, actor: &Actor, group: &GroupRef, project_ref: &ProjectRef) -> Result<Group> {
    access::authorize_instance(actor, InstanceAction::TransferProject)?;
    let mut transaction = app.database.begin().await?;
    let group = access::authorize_group(app, &mut transaction, actor, group, GroupAction::Read).await?;
    namespace::lock_shared(&mut transaction, group.id).await?;
    let before =
        access::lock_project_and_namespace(app, &mut transaction, actor, project_ref, ProjectAction::Read).await?;
    let group =
        access::authorize_group(app, &mut transaction, actor, &GroupRef::Id(group.id), GroupAction::Read).await?;
    if before.namespace.id == group.id {
        return Err(rejection("is invalid"));
    }
    let exists = || rejection("Project with same path in target namespace already exists");
    move_locked(app, &mut transaction, &before, (group.id, group.visibility), exists).await?;
    holdfast_store::commit(transaction).await?;
    Ok(group)
}

/// Moves a locked project to a locked namespace, which has this id and this visibility, and publishes an event. Lowers
/// the visibility of the project and of its forks to that of the namespace. Fails with `taken` if a project of the
/// namespace has the same path or name.
async fn move_locked(
    app: &App,
    connection: &mut Connection,
    before: &Project,
    (namespace, visibility): (NamespaceId, Visibility),
    taken: impl Fn() -> Error + Copy,
) -> Result<Project> {
    let now = app.clock.now();
    project::set_namespace(connection, before.id, namespace, visibility, now)
        .await
        .on_constraint("projects_path_key", taken)
        .on_constraint("projects_name_key", taken)?;
    if visibility < before.visibility {
        fork::cap_visibility(connection, before.id, visibility).await?;
    }
    share::delete(connection, before.id, namespace).await?;
    redirect::insert_for_project(connection, before.namespace.id, &before.path, before.id).await?;
    let project = load(app, connection, before.id, None).await?;
    let outbox_event = events::project::project_transferred(&project, &before.full_path());
    event::publish(connection, Some(project.id), &outbox_event, now).await?;
    Ok(project)
}

/// A project that its owner can move, with the namespaces in which the current user may create projects.
#[derive(Debug)]
pub struct TransferTargets {
    pub project: Project,
    /// The first [`MAX_TARGETS`] of them. The namespace of the project can be among them.
    pub namespaces: Page<Namespace>,
}

/// Maximum number of namespaces that a form offers.
pub const MAX_TARGETS: i64 = 100;

/// Returns a project with the namespaces to which the current user can move it. Administrators can move it to all.
#[crate::boxed]
pub async fn list_targets(app: &App, actor: &Actor, project: &ProjectRef) -> Result<TransferTargets> {
    let project = access::read_project(app, actor, project, ProjectAction::Delete).await?;
    let user = actor.current_user()?.account.id();
    let creator = (!actor.is_administrator()).then_some(user);
    let page = PageRequest::new(None, Some(MAX_TARGETS));
    let namespaces = namespace::list(&app.database, creator, None, page, app.today()).await?;
    Ok(TransferTargets { project, namespaces })
}

/// Moves a project to a namespace in which the current user may create projects. The user must own the project, because
/// the members of its group lose access. The visibility of the project and of its forks is lowered to that of the
/// namespace.
#[crate::boxed]
pub async fn transfer_own(
    app: &App,
    actor: &Actor,
    project_ref: &ProjectRef,
    namespace: Option<NamespaceId>,
) -> Result<Project> {
    let mut transaction = app.database.begin().await?;
    let found = access::authorize_project(app, &mut transaction, actor, project_ref, ProjectAction::Delete).await?;
    // A project is not moved by a former path.
    if let ProjectRef::Path { namespace, project: path } = project_ref
        && !found.full_path().eq_ignore_ascii_case(&format!("{namespace}/{path}"))
    {
        return Err(Error::NotFound(Resource::Project));
    }
    let id = namespace.ok_or_else(|| Violations::single("namespace", "must be chosen"))?;
    if id == found.namespace.id {
        return Err(Violations::single("namespace", "is the one that the project is in").into());
    }
    let target = lock_namespaces(app, &mut transaction, actor, found.namespace.id, id).await?;
    let target =
        target.ok_or_else(|| Violations::single("namespace", "is not one in which you may create projects"))?;
    let before =
        access::lock_project(app, &mut transaction, actor, &ProjectRef::Id(found.id), ProjectAction::Delete).await?;
    if before.namespace.id != found.namespace.id {
        return Err(Error::Conflict("The project was transferred during the request; try again".into()));
    }
    if let Some(owner) = target.owner {
        let owner = user::find(&mut transaction, owner).await?.ok_or(Error::NotFound(Resource::User))?.account();
        if !is_below_project_limit(&mut transaction, &owner).await? {
            let text = format!("has as many projects as its owner may have, which is {}", owner.projects_limit);
            return Err(Violations::single("namespace", text).into());
        }
    }
    let taken = || Error::from(Violations::single("namespace", "has a project with this path or name already"));
    let moved = move_locked(app, &mut transaction, &before, (target.id, target.visibility), taken).await?;
    add_owner(app, &mut transaction, &moved).await?;
    commit_and_reload(app, transaction, actor, before.id).await
}

/// Locks the namespace of a project and the one to which it is moved, and returns the second one if the current user may
/// create projects in it.
///
/// The first one is locked with `FOR SHARE`, like by all changes of a project, and the second one with
/// `FOR NO KEY UPDATE`, like by the creation of a project. They are locked in the order of their ids, so that two
/// transfers in opposite directions do not wait for each other.
async fn lock_namespaces(
    app: &App,
    connection: &mut Connection,
    actor: &Actor,
    source: NamespaceId,
    target: NamespaceId,
) -> Result<Option<CreationTarget>> {
    let creator = &actor.current_user()?.account;
    if source < target {
        namespace::lock_shared(connection, source).await?;
    }
    let found = namespace::lock_creation_target(connection, Some(target), creator.id(), app.today()).await?;
    if source > target {
        namespace::lock_shared(connection, source).await?;
    }
    Ok(found.filter(|target| can_create_in(actor, creator, *target)))
}

/// Makes the owner of a user's namespace a member of a project that was moved to it, as at the creation of a project.
async fn add_owner(app: &App, connection: &mut Connection, project: &Project) -> Result<()> {
    let Some(owner) = project.owner() else { return Ok(()) };
    let (now, level, user) = (app.clock.now(), AccessLevel::Master, owner.summary.id);
    if member::add_to_project(connection, project.id, user, level, None, now).await?.is_none() {
        return Ok(());
    }
    let outbox_event = events::project::member_added(project, &owner.summary, level, now);
    let joined = NewEvent::for_project(project.id, user, Action::Joined);
    event::record(connection, joined, Some(&outbox_event), now).await?;
    Ok(())
}

/// Returns an error with the text that existing clients expect.
fn rejection(reason: &str) -> Error {
    Error::Rejected(format!("Failed to transfer project {{:new_namespace=>[\"{reason}\"]}}"))
}

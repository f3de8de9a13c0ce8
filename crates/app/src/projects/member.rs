//! Members of projects.

use chrono::NaiveDate;
use holdfast_domain::activity::Action;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::{AccessLevel, Violations};
use holdfast_store::accounts::user;
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::namespaces::member::{self, MembershipScope, ProjectAccess};

use super::project::{Project, ProjectRef};
use super::share::visible_shares;
use crate::accounts::bot::{ensure_no_bot_of, ensure_visible};
use crate::error::OnConstraint;
use crate::namespaces::member::{Member, MemberFilter, Membership, MembershipInput, NewMemberInput, map_form_error};
use crate::{Actor, App, Error, Resource, Result, access, events};

/// Lists the direct members of a project. Members of its group are not included.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    query: Option<&str>,
    page: PageRequest,
) -> Result<Page<Member>> {
    let filter = MemberFilter { search: query.map(str::to_owned), ..MemberFilter::default() };
    list_filtered(app, actor, project, &filter, page).await
}

/// Like [`list`], with more filters.
#[crate::boxed]
pub async fn list_filtered(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    filter: &MemberFilter,
    page: PageRequest,
) -> Result<Page<Member>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadMembers).await?;
    Ok(member::list(&app.database, MembershipScope::Project(project.id), filter, page, app.today()).await?)
}

/// Lists everybody who has access to a project by a membership in it, in its group, or in a group that it is shared
/// with, and the owner of its namespace. Each user is listed once, with the highest level. A share with a group that
/// the viewer may not see is left out, unless the viewer is a member of the project.
#[crate::boxed]
pub async fn list_all(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    filter: &MemberFilter,
    page: PageRequest,
) -> Result<Page<Member>> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadMembers).await?;
    Ok(member::list_with_access(&app.database, &visible_access(actor, &project), filter, page, app.today()).await?)
}

/// Returns a user that [`list_all`] would list.
#[crate::boxed]
pub async fn show_any(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadMembers).await?;
    let access = visible_access(actor, &project);
    let found = member::find_with_access(&mut connection, &access, user, app.today()).await?;
    found.ok_or(Error::NotFound(Resource::Record))
}

pub(super) fn visible_access(actor: &Actor, project: &Project) -> ProjectAccess {
    let shared_with = visible_shares(project, actor.role()).map(|share| share.group_id.get()).collect();
    ProjectAccess { project: project.id, namespace: project.namespace.id, shared_with }
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadMembers).await?;
    let found = member::find(&mut connection, MembershipScope::Project(project.id), user, app.today()).await?;
    found.ok_or(Error::NotFound(Resource::Record))
}

/// Adds a member. An existing membership does not change and is returned.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    ensure_visible(app, &mut transaction, actor, user).await?;
    match add_and_publish(app, transaction, &project, user, membership).await? {
        Some(member) => Ok(member),
        None => show(app, actor, &ProjectRef::Id(project.id), user).await,
    }
}

/// Adds a member. Fails if the user is a member already.
#[crate::boxed]
pub async fn add(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    ensure_visible(app, &mut transaction, actor, user).await?;
    let added = add_and_publish(app, transaction, &project, user, membership).await?;
    added.ok_or_else(|| Error::Conflict("Member already exists".into()))
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    let level = check_level(&membership, app.today())?;
    let source = MembershipScope::Project(project.id);
    let before = member::find(&mut transaction, source, user, app.today()).await?;
    let before = before.ok_or(Error::NotFound(Resource::Record))?;
    let expires_at = membership.expires_at.or_nullable(before.expires_at);
    if expires_at.is_some() {
        ensure_no_bot_of(&mut transaction, source, user).await?;
    }
    member::upsert(&mut transaction, source, user, level, expires_at, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Member { access_level: level, expires_at, ..before })
}

/// Removes a member. Members can remove themselves; others need the permission to manage members. Returns None if there
/// is no such member.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<Option<Member>> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { ProjectAction::ReadMembers } else { ProjectAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, needed).await?;
    let source = MembershipScope::Project(project.id);
    let Some(before) = member::find(&mut transaction, source, user, app.today()).await? else { return Ok(None) };
    ensure_no_bot_of(&mut transaction, source, user).await?;
    let now = app.clock.now();
    member::delete(&mut transaction, source, user).await?;
    let outbox_event =
        events::project::member_removed(&project, &before.user, before.access_level, before.created_at, now);
    event::record(&mut transaction, NewEvent::for_project(project.id, user, Action::Left), Some(&outbox_event), now)
        .await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(before))
}

/// Adds the member that a form names. An invalid form is reported only to actors who may add members.
#[crate::boxed]
pub async fn add_by_username(app: &App, actor: &Actor, project: &ProjectRef, input: &NewMemberInput) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ManageMembers;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let (user, membership) = input.find_user(app, &mut connection, actor).await?;
    drop(connection);
    add(app, actor, &ProjectRef::Id(project.id), user, membership).await.map_err(map_form_error)
}

/// Changes level and expiry date of a member as a form asks for. An invalid form is reported only to actors who may
/// change members.
#[crate::boxed]
pub async fn save_form(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    input: &MembershipInput,
) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ManageMembers;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let scope = MembershipScope::Project(project.id);
    if member::find(&mut connection, scope, user, app.today()).await?.is_none() {
        return Err(Error::NotFound(Resource::Record));
    }
    drop(connection);
    let membership = input.parse().map_err(|message| Violations::single("expires_at", message))?;
    update(app, actor, &ProjectRef::Id(project.id), user, membership).await
}

/// Removes the current user from the direct members of a project. Returns false, and changes nothing, if the user is not
/// one or has another name than the form says: it was shown to another user of the same browser.
#[crate::boxed]
pub async fn leave(app: &App, actor: &Actor, project: &ProjectRef, username: &str) -> Result<bool> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadMembers).await?;
    let user = &actor.current_user()?.account.summary;
    if user.username != username {
        return Ok(false);
    }
    Ok(delete(app, actor, &ProjectRef::Id(project.id), user.id).await?.is_some())
}

/// Checks the access level. A membership cannot make a user the owner of a project.
fn check_level(membership: &Membership, today: NaiveDate) -> Result<AccessLevel> {
    let level = membership.check(today)?;
    if level == AccessLevel::Owner { Err(Error::Unprocessable("Access level is not known")) } else { Ok(level) }
}

/// Adds a member, records and publishes an event, and commits. Also deletes the user's access request. Returns None if
/// the user is a member already.
pub(crate) async fn add_and_publish(
    app: &App,
    mut transaction: holdfast_store::Transaction,
    project: &Project,
    user: UserId,
    membership: Membership,
) -> Result<Option<Member>> {
    let level = check_level(&membership, app.today())?;
    let now = app.clock.now();
    let expires_at = membership.expires_at.value();
    let unknown = || Error::NotFound(Resource::User);
    let inserted = member::add_to_project(&mut transaction, project.id, user, level, expires_at, now).await;
    let Some(member) = inserted.on_constraint("project_members_user_id_fkey", unknown)? else {
        // The user is a member already, or does not exist.
        user::find(&mut transaction, user).await?.ok_or_else(unknown)?;
        return Ok(None);
    };
    let outbox_event = events::project::member_added(project, &member.user, level, now);
    event::record(&mut transaction, NewEvent::for_project(project.id, user, Action::Joined), Some(&outbox_event), now)
        .await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(member))
}

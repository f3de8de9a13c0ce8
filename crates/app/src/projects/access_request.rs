//! Requests of users to become members of a project.

use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::{AccessLevel, Field};
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::member::MembershipScope;

use super::member::add_and_publish;
use super::project::ProjectRef;
use crate::namespaces::access_request::AccessRequest;
use crate::namespaces::member::{Member, Membership};
use crate::{Actor, App, Error, Resource, Result, access};

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<AccessRequest>> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageMembers).await?;
    Ok(access_request::list(&app.database, MembershipScope::Project(project.id), page).await?)
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef) -> Result<AccessRequest> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::RequestAccess).await?;
    let user = &actor.current_user()?.account;
    if project.level().is_some() || !project.features.request_access_enabled {
        return Err(Error::Forbidden(None));
    }
    let now = app.clock.now();
    if !access_request::insert(&mut transaction, MembershipScope::Project(project.id), user.id(), now).await? {
        return Err(Error::Rejected("Access was requested already".into()));
    }
    holdfast_store::commit(transaction).await?;
    Ok(AccessRequest { user: user.summary.clone(), requested_at: now })
}

/// Approves an access request: the requester becomes a member.
#[crate::boxed]
pub async fn approve(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    level: Option<i64>,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    let access_level = level.unwrap_or(AccessLevel::Developer.as_i16().into());
    let membership = Membership { access_level, expires_at: Field::Absent };
    if access_request::delete(&mut transaction, MembershipScope::Project(project.id), user).await?.is_none() {
        return Err(Error::NotFound(Resource::Record));
    }
    add_and_publish(app, transaction, &project, user, membership).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Deletes an access request. Requesters can delete their own; others need the permission to manage members.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<()> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { ProjectAction::RequestAccess } else { ProjectAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, needed).await?;
    if access_request::delete(&mut transaction, MembershipScope::Project(project.id), user).await?.is_none() {
        return Err(Error::NotFound(Resource::Record));
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

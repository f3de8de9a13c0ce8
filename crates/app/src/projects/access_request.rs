//! Who asks to become a member of a project.

use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::{AccessLevel, Field};
use holdfast_store::namespaces::access_request;
use holdfast_store::namespaces::member::Source;

use super::member::save;
use super::project::ProjectRef;
use crate::namespaces::access_request::AccessRequest;
use crate::namespaces::member::{Member, Membership};
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<AccessRequest>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageMembers).await?;
    drop(connection);
    Ok(access_request::list(&app.database, Source::Project(project.id), page).await?)
}

pub async fn create(app: &App, actor: &Actor, project: &ProjectRef) -> Result<AccessRequest> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::RequestAccess).await?;
    let user = &actor.caller()?.account;
    if project.level().is_some() || !project.features.request_access_enabled {
        return Err(Error::Forbidden(None));
    }
    let now = app.clock.now();
    if !access_request::insert(&mut transaction, Source::Project(project.id), user.id(), now).await? {
        return Err(Error::Refused("Access was requested already".into()));
    }
    holdfast_store::commit(transaction).await?;
    Ok(AccessRequest { user: user.person.clone(), requested_at: now })
}

/// The requester becomes a member.
pub async fn approve(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    level: Option<i64>,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    let access_level = level.unwrap_or(AccessLevel::Developer.level().into());
    let membership = Membership { access_level, expires_at: Field::Absent };
    if access_request::delete(&mut transaction, Source::Project(project.id), user).await?.is_none() {
        return Err(Error::NotFound(Thing::Record));
    }
    save(app, transaction, &project, user, membership).await?.ok_or(Error::NotFound(Thing::Record))
}

/// By whoever manages members, or by the requester.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<()> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { ProjectAction::RequestAccess } else { ProjectAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, needed).await?;
    if access_request::delete(&mut transaction, Source::Project(project.id), user).await?.is_none() {
        return Err(Error::NotFound(Thing::Record));
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

//! Members of projects.

use chrono::NaiveDate;
use holdfast_domain::AccessLevel;
use holdfast_domain::activity::Action;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::accounts::user;
use holdfast_store::activity::event::{self, NewEvent};
use holdfast_store::namespaces::member::{self, Source};

use super::notice;
use super::project::{Project, ProjectRef};
use crate::error::OnConstraint;
use crate::namespaces::member::{Member, Membership};
use crate::{Actor, App, Error, Result, Thing, access};

/// Direct members only: who comes in through a group is that group's member.
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    query: Option<&str>,
    page: PageRequest,
) -> Result<Page<Member>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadMembers).await?;
    drop(connection);
    Ok(member::list(&app.database, Source::Project(project.id), query, page, app.today()).await?)
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<Member> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadMembers).await?;
    let found = member::find(&mut connection, Source::Project(project.id), user, app.today()).await?;
    found.ok_or(Error::NotFound(Thing::Record))
}

/// Who is a member already stays as it is.
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    match save(app, transaction, &project, user, membership).await? {
        Some(member) => Ok(member),
        None => show(app, actor, &ProjectRef::Id(project.id), user).await,
    }
}

pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    user: UserId,
    membership: Membership,
) -> Result<Member> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageMembers).await?;
    let level = check(&membership, app.today())?;
    let source = Source::Project(project.id);
    let before = member::find(&mut transaction, source, user, app.today()).await?;
    let before = before.ok_or(Error::NotFound(Thing::Record))?;
    let expires_at = membership.expires_at.or_nullable(before.expires_at);
    member::upsert(&mut transaction, source, user, level, expires_at, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Member { access_level: level, expires_at, ..before })
}

/// Everybody may leave; others are removed by who manages members. None if there was no such member.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<Option<Member>> {
    let is_self = actor.user_id() == Some(user);
    let needed = if is_self { ProjectAction::ReadMembers } else { ProjectAction::ManageMembers };
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, needed).await?;
    let source = Source::Project(project.id);
    let Some(before) = member::find(&mut transaction, source, user, app.today()).await? else { return Ok(None) };
    let now = app.clock.now();
    member::delete(&mut transaction, source, user).await?;
    let left = notice::left(&project, &before.user, before.access_level, now);
    event::record(&mut transaction, NewEvent::of_project(project.id, user, Action::Left), Some(&left), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(before))
}

/// Nobody is made owner of a project by a membership.
fn check(membership: &Membership, today: NaiveDate) -> Result<AccessLevel> {
    let level = membership.check(today)?;
    if level == AccessLevel::Owner { Err(Error::Unprocessable("Access level is not known")) } else { Ok(level) }
}

/// A new member; None if it is one already. A request of its own for access is fulfilled by it.
pub(super) async fn save(
    app: &App,
    mut transaction: holdfast_store::Transaction,
    project: &Project,
    user: UserId,
    membership: Membership,
) -> Result<Option<Member>> {
    let level = check(&membership, app.today())?;
    let unknown = || Error::NotFound(Thing::User);
    user::find(&mut transaction, user).await?.ok_or_else(unknown)?;
    let now = app.clock.now();
    let joined = member::join(&mut transaction, project.id, user, level, membership.expires_at.value(), now).await;
    let Some(member) = joined.on_constraint("project_members_user_id_fkey", unknown)? else { return Ok(None) };
    let joined = notice::joined(project, &member.user, level, now);
    event::record(&mut transaction, NewEvent::of_project(project.id, user, Action::Joined), Some(&joined), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(Some(member))
}

//! Sharing a project with groups.

use chrono::NaiveDate;
use holdfast_domain::ids::{NamespaceId, ProjectId};
use holdfast_domain::policy::{GroupAction, ProjectAction, Standing, is_visible};
use holdfast_domain::{AccessLevel, Violations};
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::projects::share;

pub use holdfast_store::projects::share::Share;

use super::project::{Project, ProjectRef};
use crate::error::OnConstraint;
use crate::{Actor, App, Error, Result, Thing, access};

/// They are loaded with every project.
const MOST_SHARES: usize = 100;

/// A project is shared with a group until that day.
#[derive(Clone, Copy, Debug)]
pub struct NewShare {
    pub id: i64,
    pub project: ProjectId,
    pub group: NamespaceId,
    pub access_level: AccessLevel,
    pub expires_at: Option<NaiveDate>,
}

pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    group: NamespaceId,
    access_level: AccessLevel,
    expires_at: Option<NaiveDate>,
) -> Result<NewShare> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::Share).await?;
    let group = access::group(app, &mut transaction, actor, &GroupRef::Id(group), GroupAction::Read).await?;
    if expires_at.is_some_and(|end| end <= app.today()) {
        return Err(Violations::of("expires_at", "must be a day to come").into());
    }
    if group.id == project.namespace.id {
        return Err(Error::Conflict("Project cannot be shared with the project it is in.".into()));
    }
    if project.shares().len() >= MOST_SHARES {
        return Err(Error::Refused(format!("A project can be shared with {MOST_SHARES} groups at the most")));
    }
    let inserted =
        share::insert(&mut transaction, project.id, group.id, access_level, expires_at, app.clock.now()).await;
    let taken = || Error::Conflict("Group already shared with this group".into());
    let id = inserted.on_constraint("project_shares_group_key", taken)?;
    holdfast_store::commit(transaction).await?;
    Ok(NewShare { id, project: project.id, group: group.id, access_level, expires_at })
}

pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, group: NamespaceId) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::Share).await?;
    if !share::delete(&mut transaction, project.id, group).await? {
        return Err(Error::NotFound(Thing::GroupLink));
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// The groups a project is shared with, as far as the reader may know of them: those it can see, and all for members of
/// the project.
pub fn shown(project: &Project, standing: Standing) -> impl Iterator<Item = &Share> {
    let is_member = project.level().is_some() || standing == Standing::Administrator;
    project
        .shares()
        .iter()
        .filter(move |share| is_member || is_visible(share.visibility(), standing, share.member_level()))
}

//! Shares of projects with groups.

use chrono::NaiveDate;
use holdfast_domain::ids::{NamespaceId, ProjectId};
use holdfast_domain::policy::{GroupAction, InstanceRole, ProjectAction, is_visible};
use holdfast_domain::violations::BLANK;
use holdfast_domain::{AccessLevel, Violations};
use holdfast_store::namespaces::group::GroupRef;
use holdfast_store::projects::share;

pub use holdfast_store::projects::share::{Share, ShareDetail};

use super::project::{Project, ProjectRef};
use crate::error::OnConstraint;
use crate::namespaces::member::{Membership, MembershipInput};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of shares of a project, because they are loaded with every project. Arbitrary.
const MAX_SHARES: usize = 100;

/// A share that was created.
#[derive(Clone, Copy, Debug)]
pub struct NewShare {
    pub id: i64,
    pub project: ProjectId,
    pub group: NamespaceId,
    pub access_level: AccessLevel,
    pub expires_at: Option<NaiveDate>,
}

/// A share as a form sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareInput {
    /// The path of the group.
    pub group: String,
    pub membership: MembershipInput,
}

/// Shares a project with the group that a form names. An invalid form is reported only to actors who may share the
/// project.
#[crate::boxed]
pub async fn create_by_path(app: &App, actor: &Actor, project: &ProjectRef, input: &ShareInput) -> Result<NewShare> {
    let project = access::read_project(app, actor, project, ProjectAction::Share).await?;
    let mut violations = Violations::default();
    let path = input.group.trim();
    if path.is_empty() {
        violations.add("group", BLANK);
    }
    let Membership { access_level, expires_at } =
        violations.check("expires_at", input.membership.parse()).unwrap_or_default();
    violations.into_result()?;
    // A share cannot make the owners of a group owners of the project.
    let access_level = AccessLevel::try_from(access_level).ok().filter(|level| *level < AccessLevel::Owner);
    let access_level = access_level.ok_or(Error::Unprocessable("Access level is not known"))?;
    let group = GroupRef::Path(path.to_owned());
    let created = create_in(app, actor, &ProjectRef::Id(project.id), &group, access_level, expires_at.value()).await;
    created.map_err(|error| match error {
        Error::NotFound(Resource::Group) => Violations::single("group", "does not exist, or you may not see it").into(),
        Error::Conflict(_) => Violations::single("group", "has access to the project already").into(),
        Error::Rejected(text) => Violations::single("group", format!("was not added: {text}")).into(),
        other => other,
    })
}

#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    group: NamespaceId,
    access_level: AccessLevel,
    expires_at: Option<NaiveDate>,
) -> Result<NewShare> {
    create_in(app, actor, project, &GroupRef::Id(group), access_level, expires_at).await
}

async fn create_in(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    group: &GroupRef,
    access_level: AccessLevel,
    expires_at: Option<NaiveDate>,
) -> Result<NewShare> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::Share).await?;
    let group = access::authorize_group(app, &mut transaction, actor, group, GroupAction::Read).await?;
    if expires_at.is_some_and(|end| end <= app.today()) {
        return Err(Violations::single("expires_at", "must be a day to come").into());
    }
    if group.id == project.namespace.id {
        return Err(Error::Conflict("Project cannot be shared with the project it is in.".into()));
    }
    if project.shares().len() >= MAX_SHARES {
        return Err(Error::Rejected(format!("A project can be shared with at most {MAX_SHARES} groups")));
    }
    let inserted =
        share::insert(&mut transaction, project.id, group.id, access_level, expires_at, app.clock.now()).await;
    let taken = || Error::Conflict("Group already shared with this group".into());
    let id = inserted.on_constraint("project_shares_group_key", taken)?;
    holdfast_store::commit(transaction).await?;
    Ok(NewShare { id, project: project.id, group: group.id, access_level, expires_at })
}

#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, group: NamespaceId) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::Share).await?;
    if !share::delete(&mut transaction, project.id, group).await? {
        return Err(Error::NotFound(Resource::GroupLink));
    }
    holdfast_store::commit(transaction).await?;
    Ok(())
}

/// Returns the shares of a project that the viewer may see: those with visible groups, and all of them for members of
/// the project and administrators.
pub fn visible_shares(project: &Project, role: InstanceRole) -> impl Iterator<Item = &Share> {
    let is_member = project.level().is_some() || role == InstanceRole::Administrator;
    project.shares().iter().filter(move |share| is_member || is_visible(share.visibility(), role, share.member_level()))
}

//! The members of a project with everything that their page shows.

use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::namespaces::inherited_member;
use holdfast_store::namespaces::member::{self, MembershipScope};
use holdfast_store::projects::share;

pub use holdfast_store::namespaces::inherited_member::InheritedMember;

use super::member::visible_access;
use super::project::{Project, ProjectRef};
use super::share::ShareDetail;
use crate::namespaces::access_request::AccessRequest;
use crate::namespaces::member::{Member, MemberFilter};
use crate::namespaces::member_overview::{is_bot_of, list_requests};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of inherited members on the page of members. The pages of the groups list all of them.
pub const MAX_SHOWN_INHERITED: usize = 50;

/// The members of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectMembers {
    pub project: Project,
    /// The members who were added to the project itself.
    pub members: Page<Member>,
    /// The first [`MAX_SHOWN_INHERITED`] members of the project's group and of the groups that it is shared with.
    pub inherited: Vec<InheritedMember>,
    pub has_more_inherited: bool,
    /// The first requests for access, if the current user may decide about them.
    pub requests: Option<Page<AccessRequest>>,
    /// The groups that the project is shared with and that the current user may see.
    pub shares: Vec<ShareDetail>,
}

/// Returns the members of a project, with what their page shows. Groups that the current user may not see are left out
/// with their members, unless the user is a member of the project.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<ProjectMembers> {
    let project = access::read_project(app, actor, project, ProjectAction::ReadMembers).await?;
    let (scope, today) = (MembershipScope::Project(project.id), app.today());
    let members = member::list(&app.database, scope, &MemberFilter::default(), page, today).await?;
    let requests = match access::is_authorized(actor, &project, ProjectAction::ManageMembers) {
        true => Some(list_requests(app, scope).await?),
        false => None,
    };
    let access = visible_access(actor, &project);
    let mut connection = app.database.connection().await?;
    let limit = MAX_SHOWN_INHERITED as i64 + 1;
    let mut inherited = inherited_member::list_first(&mut connection, &access, limit, today).await?;
    let has_more_inherited = inherited.len() > MAX_SHOWN_INHERITED;
    inherited.truncate(MAX_SHOWN_INHERITED);
    let shares = match access.shared_with.is_empty() {
        true => Vec::new(),
        false => share::list_details(&mut connection, project.id, &access.shared_with).await?,
    };
    Ok(ProjectMembers { project, members, inherited, has_more_inherited, requests, shares })
}

/// A direct member whose membership the current user may change.
#[derive(Debug)]
pub struct ProjectMember {
    pub project: Project,
    pub member: Member,
    /// Whether the member is the user of an access token, which is removed only with the token.
    pub is_bot: bool,
}

/// Returns a direct member to an actor who may change the membership.
#[crate::boxed]
pub async fn show_member(app: &App, actor: &Actor, project: &ProjectRef, user: UserId) -> Result<ProjectMember> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ManageMembers;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let scope = MembershipScope::Project(project.id);
    let member = member::find(&mut connection, scope, user, app.today()).await?;
    let member = member.ok_or(Error::NotFound(Resource::Record))?;
    let is_bot = is_bot_of(&mut connection, scope, user).await?;
    Ok(ProjectMember { project, member, is_bot })
}

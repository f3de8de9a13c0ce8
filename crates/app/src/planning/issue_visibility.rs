//! Visibility of issues, and the audience of their events.

use holdfast_domain::activity::Audience;
use holdfast_domain::ids::IssueId;
use holdfast_domain::planning::ConfidentialAccess;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::planning::issue::{self, Issue};

use crate::projects::project::Project;
use crate::{Actor, Error, Resource, Result, access};

/// Returns which confidential issues of a project the actor sees.
pub(crate) fn confidential_access(actor: &Actor, project: &Project) -> ConfidentialAccess {
    match actor.user_id() {
        _ if access::can(actor, project, ProjectAction::ManageIssues) => ConfidentialAccess::All,
        Some(user) => ConfidentialAccess::Own(user),
        None => ConfidentialAccess::None,
    }
}

/// Finds an issue that the actor may see. A hidden issue is reported as not found.
pub(super) async fn find_visible(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    id: IssueId,
) -> Result<Issue> {
    let found = issue::find(connection, project.id, id, actor.user_id()).await?;
    let is_visible = |issue: &Issue| {
        !issue.confidential
            || match confidential_access(actor, project) {
                ConfidentialAccess::All => true,
                ConfidentialAccess::Own(user) => issue.is_author_or_assignee(user),
                ConfidentialAccess::None => false,
            }
    };
    found.filter(is_visible).ok_or(Error::NotFound(Resource::Issue))
}

/// Like [`find_visible`], but finds the issue by its number in the project.
pub(super) async fn find_visible_by_iid(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    iid: i64,
) -> Result<Issue> {
    let id = issue::find_id(connection, project.id, iid).await?.ok_or(Error::NotFound(Resource::Issue))?;
    find_visible(connection, actor, project, id).await
}

/// Returns the audience of events about an issue.
pub(super) fn audience(is_confidential: bool) -> Audience {
    if is_confidential { Audience::IssueManagers } else { Audience::Everybody }
}

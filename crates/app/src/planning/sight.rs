//! Who sees which issue, and is told of it.

use holdfast_domain::activity::Audience;
use holdfast_domain::ids::IssueId;
use holdfast_domain::planning::Seen;
use holdfast_domain::policy::ProjectAction;
use holdfast_store::Connection;
use holdfast_store::planning::issue::{self, Issue};

use crate::projects::project::Project;
use crate::{Actor, Error, Result, Thing, access};

/// Which confidential issues of a project somebody sees.
pub(super) fn seen(actor: &Actor, project: &Project) -> Seen {
    match actor.user_id() {
        _ if access::may(actor, project, ProjectAction::ManageIssues) => Seen::All,
        Some(user) => Seen::Own(user),
        None => Seen::None,
    }
}

/// One that the caller may see.
pub(super) async fn find(connection: &mut Connection, actor: &Actor, project: &Project, id: IssueId) -> Result<Issue> {
    let found = issue::find(connection, project.id, id, actor.user_id()).await?;
    let is_seen = |issue: &Issue| {
        !issue.confidential
            || match seen(actor, project) {
                Seen::All => true,
                Seen::Own(user) => issue.concerns(user),
                Seen::None => false,
            }
    };
    found.filter(is_seen).ok_or(Error::NotFound(Thing::Issue))
}

/// Who is told of what happens to an issue.
pub(super) fn audience(confidential: bool) -> Audience {
    if confidential { Audience::IssueManagers } else { Audience::Everybody }
}

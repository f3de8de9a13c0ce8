//! Issues and users that texts mention.

use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::planning::ConfidentialAccess;

use crate::{Connection, Result};

/// The issues of a project and the users that exist and that the viewer may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Mentioned {
    /// Numbers of issues.
    pub issues: Vec<i64>,
    pub usernames: Vec<String>,
}

/// The issues are found by `issues_iid_key`, the users by `users_username_key`.
const QUERY: &str = "
    select array(select i.iid from issues i where i.project_id = $1 and i.iid = any($2) \
             and (not i.confidential or $3 or i.author_id = $4 or i.assignee_id = $4)) as issues, \
           array(select u.username from users u where lower(u.username) = any($5) and not u.ghost) as usernames";

/// Finds issues of a project by their numbers, and users by their names in lower case.
pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    confidential_access: ConfidentialAccess,
    issues: &[i64],
    usernames: &[String],
) -> Result<Mentioned> {
    let (sees_all, viewer) = match confidential_access {
        ConfidentialAccess::All => (true, None),
        ConfidentialAccess::Own(user) => (false, Some(UserId::get(user))),
        ConfidentialAccess::None => (false, None),
    };
    let query = sqlx::query_as::<_, Mentioned>(QUERY).bind(project.get()).bind(issues).bind(sees_all).bind(viewer);
    Ok(query.bind(usernames).fetch_one(connection).await?)
}

//! The users whom a form offers as assignees of issues.

use chrono::NaiveDate;
use holdfast_domain::ids::ProjectId;

use crate::accounts::user::UserSummary;
use crate::{Connection, Result};

/// Lists at most `limit` active users who belong to a project: its members, those of its group, and the owner of its
/// namespace, sorted by username. Each part is limited, so a large group costs no more than a small one.
pub async fn list(
    connection: &mut Connection,
    project: ProjectId,
    today: NaiveDate,
    limit: i64,
) -> Result<Vec<UserSummary>> {
    const QUERY: &str = "\
        select u.id, u.username, u.name, u.email, u.state from ( \
          (select m.user_id from project_members m where m.project_id = $1 \
             and (m.expires_at is null or m.expires_at > $2) limit $3) \
          union \
          (select m.user_id from projects p join group_members m on m.group_id = p.namespace_id \
             where p.id = $1 and (m.expires_at is null or m.expires_at > $2) limit $3) \
          union \
          (select n.owner_id from projects p join namespaces n on n.id = p.namespace_id \
             where p.id = $1 and n.owner_id is not null) \
        ) member (id) join users u on u.id = member.id where u.state = 'active' and not u.ghost \
        order by u.username limit $3";
    Ok(sqlx::query_as(QUERY).bind(project.get()).bind(today).bind(limit).fetch_all(connection).await?)
}

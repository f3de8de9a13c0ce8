//! Deletion of expired memberships.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::ProjectId;

use crate::accounts::user::UserSummary;
use crate::{Connection, Result};

/// An expired membership of a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ExpiredMember {
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    #[sqlx(flatten)]
    pub user: UserSummary,
    pub created_at: DateTime<Utc>,
}

/// Deletes at most `limit` expired memberships of projects, and returns them.
pub async fn delete_expired_members(
    connection: &mut Connection,
    today: NaiveDate,
    limit: i64,
) -> Result<Vec<ExpiredMember>> {
    const QUERY: &str = "\
        with expired as (delete from project_members m using (select project_id, user_id from project_members \
          where expires_at <= $1 order by expires_at limit $2 for update skip locked) old \
        where m.project_id = old.project_id and m.user_id = old.user_id \
        returning m.project_id, m.user_id, m.access_level, m.created_at) \
        select e.project_id, e.access_level, e.created_at, u.id, u.username, u.name, u.email, u.state \
        from expired e join users u on u.id = e.user_id";
    Ok(sqlx::query_as(QUERY).bind(today).bind(limit).fetch_all(connection).await?)
}

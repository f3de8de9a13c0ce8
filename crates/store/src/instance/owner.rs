//! The owners of groups in a list.

use chrono::NaiveDate;

use crate::{Connection, Result};

/// One of the owners of a group.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct GroupOwner {
    pub group_id: i64,
    pub user_id: i64,
    pub username: String,
    pub name: String,
}

/// Returns the first owners of each of these groups, at most `at_most` of a group. Bots and expired memberships are left
/// out.
pub async fn list_group_owners(
    connection: &mut Connection,
    groups: &[i64],
    at_most: i64,
    today: NaiveDate,
) -> Result<Vec<GroupOwner>> {
    // The level of owners is a literal, as in the condition of the index `group_members_owners`.
    const QUERY: &str = "\
        select g.id as group_id, o.user_id, o.username, o.name from unnest($1::bigint[]) g (id) cross join lateral \
          (select u.id as user_id, u.username, u.name from group_members m join users u on u.id = m.user_id \
           where m.group_id = g.id and m.access_level = 50 and not u.bot \
             and (m.expires_at is null or m.expires_at > $3) order by u.id limit $2) o \
        order by g.id, o.user_id";
    Ok(sqlx::query_as(QUERY).bind(groups).bind(at_most).bind(today).fetch_all(connection).await?)
}

//! What the deletion of a user removes.

use holdfast_domain::ids::UserId;

use crate::{Connection, Result};

/// Maximum number of projects that are counted. Arbitrary.
pub const MAX_COUNTED_PROJECTS: i64 = 1000;
/// Maximum number of groups that are named. Arbitrary.
const MAX_NAMED_GROUPS: i64 = 10;

/// What the deletion of a user removes, and what prevents it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DeletionEffects {
    /// Projects in the namespace of the user, at most one more than [`MAX_COUNTED_PROJECTS`].
    pub projects: i64,
    /// Paths of groups whose only owner is the user. They have to be deleted or passed on before. Not all of many.
    pub sole_groups: Vec<String>,
}

/// Returns what the deletion of a user removes.
pub async fn find_deletion_effects(connection: &mut Connection, user: UserId) -> Result<DeletionEffects> {
    // The level of owners is a literal, as in the condition of the index `group_members_owners`.
    const QUERY: &str = "\
        select (select count(*) from (select from namespaces n join projects p on p.namespace_id = n.id \
            where n.owner_id = $1 limit $2) own) as projects, \
          array(select n.path from group_members m join namespaces n on n.id = m.group_id \
            where m.user_id = $1 and m.access_level = 50 and not exists \
              (select from group_members o where o.group_id = m.group_id and o.access_level = 50 and o.user_id <> $1 \
                 and o.expires_at is null and not exists (select from bots b where b.user_id = o.user_id)) \
            order by n.path limit $3) as sole_groups";
    let query = sqlx::query_as(QUERY).bind(user.get()).bind(MAX_COUNTED_PROJECTS + 1).bind(MAX_NAMED_GROUPS);
    Ok(query.fetch_one(connection).await?)
}

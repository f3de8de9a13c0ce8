//! Members of a project that are not its direct members, each with the group or namespace that they come from.

use chrono::NaiveDate;
use holdfast_domain::AccessLevel;
use holdfast_domain::namespaces::NamespaceKind;
use sqlx::{Postgres, QueryBuilder};

use super::member::ProjectAccess;
use crate::accounts::user::UserSummary;
use crate::{Connection, Result};

/// A member of the group of a project or of a group that the project is shared with, or the owner of its namespace.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct InheritedMember {
    #[sqlx(flatten)]
    pub user: UserSummary,
    /// The level in the project. A share can limit it.
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    pub expires_at: Option<NaiveDate>,
    /// Whether the source is a group that the project is shared with.
    pub is_shared: bool,
    /// The kind of the source. A user is the owner of the project's namespace.
    #[sqlx(try_from = "String")]
    pub source_kind: NamespaceKind,
    pub source_name: String,
    pub source_path: String,
}

/// Returns the first `limit` inherited members of a project, sorted by user id. A user who has access through several
/// groups is listed for each of them.
///
/// The limit is written into each part of the statement, so that no part is read further than needed.
pub async fn list_first(
    connection: &mut Connection,
    access: &ProjectAccess,
    limit: i64,
    today: NaiveDate,
) -> Result<Vec<InheritedMember>> {
    let push_members = |query: &mut QueryBuilder<Postgres>, group: &'static str, id: Option<i64>| {
        query.push(
            "(select m.user_id, m.access_level, m.expires_at, m.group_id from group_members m where m.group_id = ",
        );
        query.push(group);
        if let Some(id) = id {
            query.push_bind(id);
        }
        query.push(" and (m.expires_at is null or m.expires_at > ").push_bind(today);
        query.push(") order by m.user_id limit ").push_bind(limit).push(")");
    };
    let mut query = QueryBuilder::new(
        "select u.id, u.username, u.name, u.email, u.state, m.access_level, m.expires_at, m.is_shared, \
         n.kind as source_kind, n.name as source_name, n.path as source_path from (\
         select m.user_id, m.access_level, m.expires_at, m.group_id as source_id, false as is_shared from ",
    );
    push_members(&mut query, "", Some(access.namespace.get()));
    // `least` ignores null.
    query.push(
        " m union all select m.user_id, least(m.access_level, s.access_level), least(m.expires_at, s.expires_at), \
         s.group_id, true from project_shares s cross join lateral ",
    );
    push_members(&mut query, "s.group_id", None);
    query.push(" m where s.project_id = ").push_bind(access.project.get());
    query.push(" and s.group_id = any(").push_bind(access.shared_with.clone());
    query.push(") and (s.expires_at is null or s.expires_at > ").push_bind(today);
    query.push(") union all select o.owner_id, ").push(AccessLevel::Owner.as_i16());
    query.push("::smallint, null::date, o.id, false from namespaces o where o.owner_id is not null and o.id = ");
    query.push_bind(access.namespace.get());
    query.push(
        ") m join users u on u.id = m.user_id join namespaces n on n.id = m.source_id \
         order by m.user_id, m.source_id limit ",
    );
    query.push_bind(limit);
    Ok(query.build_query_as().fetch_all(connection).await?)
}

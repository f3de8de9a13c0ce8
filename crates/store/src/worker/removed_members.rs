//! Memberships that are deleted because they have expired, or with their project, group or user, for the events about
//! them.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use sqlx::QueryBuilder;

use crate::accounts::user::UserSummary;
use crate::{Connection, Result};

/// What is deleted together with its memberships.
#[derive(Clone, Copy, Debug)]
pub enum Removal {
    Project(ProjectId),
    /// A group, or the namespace of a user, with all its projects.
    Namespace(NamespaceId),
    User(UserId),
}

/// A membership in a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ProjectMember {
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    #[sqlx(flatten)]
    pub user: UserSummary,
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    pub created_at: DateTime<Utc>,
}

/// A membership in a group.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct GroupMember {
    #[sqlx(try_from = "i64")]
    pub group_id: NamespaceId,
    #[sqlx(flatten)]
    pub user: UserSummary,
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    pub created_at: DateTime<Utc>,
}

/// Returns at most `limit` memberships in projects, sorted by project and user. `after` is the last one of the batch
/// before. Expired memberships are included, those of deleted projects are left out.
pub async fn next_project_members(
    connection: &mut Connection,
    removal: Removal,
    after: Option<(ProjectId, UserId)>,
    limit: i64,
) -> Result<Vec<ProjectMember>> {
    let (project, user) = after.map_or((0, 0), |(project, user)| (project.get(), user.get()));
    let mut query = QueryBuilder::new(
        "select m.project_id, m.access_level, m.created_at, u.id, u.username, u.name, u.email, u.state
         from project_members m join projects p on p.id = m.project_id join users u on u.id = m.user_id
         where p.namespace_id is not null and ",
    );
    match removal {
        Removal::Project(id) => query.push("m.project_id = ").push_bind(id.get()),
        Removal::Namespace(id) => query.push("p.namespace_id = ").push_bind(id.get()),
        Removal::User(id) => query.push("m.user_id = ").push_bind(id.get()),
    };
    // This follows from the comparison of pairs below, but lets PostgreSQL skip the projects of the batches before.
    query.push(" and p.id >= ").push_bind(project);
    query.push(" and (m.project_id, m.user_id) > (").push_bind(project).push(", ").push_bind(user);
    query.push(") order by m.project_id, m.user_id limit ").push_bind(limit);
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Returns at most `limit` memberships in groups, sorted by group and user. `after` is the last one of the batch before.
/// Expired memberships are included. A project has none.
pub async fn next_group_members(
    connection: &mut Connection,
    removal: Removal,
    after: Option<(NamespaceId, UserId)>,
    limit: i64,
) -> Result<Vec<GroupMember>> {
    let (group, user) = after.map_or((0, 0), |(group, user)| (group.get(), user.get()));
    let mut query = QueryBuilder::new(
        "select m.group_id, m.access_level, m.created_at, u.id, u.username, u.name, u.email, u.state
         from group_members m join users u on u.id = m.user_id where ",
    );
    match removal {
        Removal::Project(_) => return Ok(Vec::new()),
        Removal::Namespace(id) => query.push("m.group_id = ").push_bind(id.get()),
        Removal::User(id) => query.push("m.user_id = ").push_bind(id.get()),
    };
    query.push(" and (m.group_id, m.user_id) > (").push_bind(group).push(", ").push_bind(user);
    query.push(") order by m.group_id, m.user_id limit ").push_bind(limit);
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Deletes at most `limit` expired memberships of projects, and returns them.
pub async fn delete_expired(connection: &mut Connection, today: NaiveDate, limit: i64) -> Result<Vec<ProjectMember>> {
    const QUERY: &str = "\
        with expired as (delete from project_members m using (select project_id, user_id from project_members \
          where expires_at <= $1 order by expires_at limit $2 for update skip locked) old \
        where m.project_id = old.project_id and m.user_id = old.user_id \
        returning m.project_id, m.user_id, m.access_level, m.created_at) \
        select e.project_id, e.access_level, e.created_at, u.id, u.username, u.name, u.email, u.state \
        from expired e join users u on u.id = e.user_id";
    Ok(sqlx::query_as(QUERY).bind(today).bind(limit).fetch_all(connection).await?)
}

//! Members of groups and of projects: two tables with the same columns.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result, search};

/// The group or project of a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipScope {
    Group(NamespaceId),
    Project(ProjectId),
}

impl MembershipScope {
    const fn id(self) -> i64 {
        match self {
            Self::Group(id) => id.get(),
            Self::Project(id) => id.get(),
        }
    }
}

/// A direct membership, with its user.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Member {
    #[sqlx(flatten)]
    pub user: UserSummary,
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    pub expires_at: Option<NaiveDate>,
    pub created_at: DateTime<Utc>,
}

/// Lists the members of a group or a project, sorted by user id. Expired memberships are left out.
pub async fn list(
    database: &Database,
    scope: MembershipScope,
    term: Option<&str>,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Member>> {
    let list = PagedQuery {
        columns: "u.id, u.username, u.name, u.email, u.state, m.access_level, m.expires_at, m.created_at",
        rows: "m.user_id, m.access_level, m.expires_at, m.created_at",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push(match scope {
                MembershipScope::Group(_) => {
                    "from group_members m join users u on u.id = m.user_id where m.group_id = "
                }
                MembershipScope::Project(_) => {
                    "from project_members m join users u on u.id = m.user_id where m.project_id = "
                }
            });
            query.push_bind(scope.id()).push(" and (m.expires_at is null or m.expires_at > ").push_bind(today);
            query.push(")");
            if let Some(term) = term {
                query.push(" and (");
                search::push_contains(query, "u.search_text", term);
                query.push(" or ");
                search::push_contains(query, "lower(u.name collate \"und-x-icu\") collate \"C\"", term);
                query.push(")");
            }
        },
        order: "m.user_id",
        page: table_alias("m join users u on u.id = m.user_id"),
        total: Total::Bounded,
        needs_custom_plan: term.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(
    connection: &mut Connection,
    scope: MembershipScope,
    user: UserId,
    today: NaiveDate,
) -> Result<Option<Member>> {
    const FIND_IN_GROUP: &str = "\
        select u.id, u.username, u.name, u.email, u.state, m.access_level, m.expires_at, m.created_at \
        from group_members m join users u on u.id = m.user_id \
        where m.group_id = $1 and m.user_id = $2 and (m.expires_at is null or m.expires_at > $3)";
    const FIND_IN_PROJECT: &str = "\
        select u.id, u.username, u.name, u.email, u.state, m.access_level, m.expires_at, m.created_at \
        from project_members m join users u on u.id = m.user_id \
        where m.project_id = $1 and m.user_id = $2 and (m.expires_at is null or m.expires_at > $3)";
    let query = sqlx::query_as(match scope {
        MembershipScope::Group(_) => FIND_IN_GROUP,
        MembershipScope::Project(_) => FIND_IN_PROJECT,
    });
    Ok(query.bind(scope.id()).bind(user.get()).bind(today).fetch_optional(connection).await?)
}

/// Adds a member to a project and deletes the user's access request. Returns None if the user is a member already or
/// does not exist. An expired membership is replaced by a new one.
pub async fn add_to_project(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
    now: DateTime<Utc>,
) -> Result<Option<Member>> {
    const QUERY: &str = "\
        with m as (insert into project_members as m (project_id, user_id, access_level, expires_at, created_at) \
          select $1, u.id, $3, $4, $5 from users u where u.id = $2 and not u.ghost \
          on conflict (project_id, user_id) do update \
          set access_level = excluded.access_level, expires_at = excluded.expires_at, \
            created_at = excluded.created_at \
          where m.expires_at <= $6 returning user_id, access_level, expires_at, created_at), \
        fulfilled as (delete from access_requests r using m where r.project_id = $1 and r.user_id = m.user_id) \
        select u.id, u.username, u.name, u.email, u.state, m.access_level, m.expires_at, m.created_at \
        from m join users u on u.id = m.user_id";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(user.get()).bind(level.as_i16());
    Ok(query.bind(expires_at).bind(now).bind(now.date_naive()).fetch_optional(connection).await?)
}

/// Adds a member, or updates the level and the expiry date of an existing membership. An expired membership is replaced
/// by a new one.
pub async fn upsert(
    connection: &mut Connection,
    scope: MembershipScope,
    user: UserId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
    now: DateTime<Utc>,
) -> Result<()> {
    const UPSERT_IN_GROUP: &str = "\
        insert into group_members as m (group_id, user_id, access_level, expires_at, created_at) \
        values ($1, $2, $3, $4, $5) \
        on conflict (group_id, user_id) do update set access_level = excluded.access_level, \
          expires_at = excluded.expires_at, \
          created_at = case when m.expires_at <= $6 then excluded.created_at else m.created_at end";
    const UPSERT_IN_PROJECT: &str = "\
        insert into project_members as m (project_id, user_id, access_level, expires_at, created_at) \
        values ($1, $2, $3, $4, $5) \
        on conflict (project_id, user_id) do update set access_level = excluded.access_level, \
          expires_at = excluded.expires_at, \
          created_at = case when m.expires_at <= $6 then excluded.created_at else m.created_at end";
    let query = sqlx::query(match scope {
        MembershipScope::Group(_) => UPSERT_IN_GROUP,
        MembershipScope::Project(_) => UPSERT_IN_PROJECT,
    });
    let query = query.bind(scope.id()).bind(user.get());
    query.bind(level.as_i16()).bind(expires_at).bind(now).bind(now.date_naive()).execute(connection).await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, scope: MembershipScope, user: UserId) -> Result<()> {
    let query = sqlx::query(match scope {
        MembershipScope::Group(_) => "delete from group_members where group_id = $1 and user_id = $2",
        MembershipScope::Project(_) => "delete from project_members where project_id = $1 and user_id = $2",
    });
    query.bind(scope.id()).bind(user.get()).execute(connection).await?;
    Ok(())
}

/// Returns whether another user owns the group through a membership without an expiry date.
pub async fn has_other_permanent_owner(connection: &mut Connection, group: NamespaceId, user: UserId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from group_members where group_id = $1 and user_id <> $2 and access_level = 50
             and expires_at is null) as "exists!""#,
        group.get(),
        user.get(),
    )
    .fetch_one(connection)
    .await?)
}

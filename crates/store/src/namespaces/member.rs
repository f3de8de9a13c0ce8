//! Members of groups and of projects: two tables with the same columns.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Purpose, Total, table_alias};
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

/// Which members a list contains.
#[derive(Clone, Debug, Default)]
pub struct MemberFilter {
    /// Part of the name, username or e-mail address.
    pub search: Option<String>,
    /// Only users with these ids, or all if there are none.
    pub only: Vec<i64>,
    /// No users with these ids.
    pub skip: Vec<i64>,
}

impl MemberFilter {
    /// Writes the join with the users as `u` on the column of the user's id, if [`Self::push`] needs it.
    fn push_join(&self, query: &mut QueryBuilder<Postgres>, user_id: &'static str) {
        if self.search.is_some() {
            query.push(" join users u on u.id = ").push(user_id);
        }
    }

    /// Writes the conditions on the user: on the column of the user's id, and for a search on the user `u`.
    fn push(&self, query: &mut QueryBuilder<Postgres>, user_id: &'static str) {
        if let Some(term) = &self.search {
            query.push(" and (");
            search::push_contains(query, "u.search_text", term);
            query.push(" or ");
            search::push_contains(query, "lower(u.name collate \"und-x-icu\") collate \"C\"", term);
            query.push(")");
        }
        if !self.only.is_empty() {
            query.push(" and ").push(user_id).push(" = any(").push_bind(self.only.clone()).push(")");
        }
        if !self.skip.is_empty() {
            query.push(" and ").push(user_id).push(" <> all(").push_bind(self.skip.clone()).push(")");
        }
    }

    fn is_empty(&self) -> bool {
        self.search.is_none() && self.only.is_empty() && self.skip.is_empty()
    }
}

const MEMBER_COLUMNS: &str = "u.id, u.username, u.name, u.email, u.state, m.access_level, m.expires_at, m.created_at";

/// Lists the members of a group or a project, sorted by user id. Expired memberships are left out.
pub async fn list(
    database: &Database,
    scope: MembershipScope,
    filter: &MemberFilter,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Member>> {
    let list = PagedQuery {
        columns: MEMBER_COLUMNS,
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
            filter.push(query, "m.user_id");
        },
        order: "m.user_id",
        page: table_alias("m join users u on u.id = m.user_id"),
        total: Total::Bounded,
        needs_custom_plan: !filter.is_empty(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Everybody who has access to a project: its own members, the members of its group, the members of the groups that it
/// is shared with, and the owner of the namespace.
#[derive(Clone, Debug)]
pub struct ProjectAccess {
    pub project: ProjectId,
    pub namespace: NamespaceId,
    /// The groups whose members are included. The project must be shared with them.
    pub shared_with: Vec<i64>,
}

impl ProjectAccess {
    /// Writes a subquery with the alias `m` that has each user once, with the highest level.
    ///
    /// The filter and the limit of `purpose` are written into each part of it, so that no part is read further than
    /// needed. A part has each user at most once. A user who is among the first ones of the whole is therefore among the
    /// first ones of every part that has the user, and no limit drops a higher level.
    fn push(&self, query: &mut QueryBuilder<Postgres>, filter: &MemberFilter, purpose: Purpose, today: NaiveDate) {
        let push_members = |query: &mut QueryBuilder<Postgres>,
                            table: &'static str,
                            scope: &'static str,
                            id: Option<i64>| {
            query.push("(select m.user_id, m.access_level, m.expires_at, m.created_at from ").push(table).push(" m");
            filter.push_join(query, "m.user_id");
            query.push(" where ").push(scope);
            if let Some(id) = id {
                query.push_bind(id);
            }
            query.push(" and (m.expires_at is null or m.expires_at > ").push_bind(today).push(")");
            filter.push(query, "m.user_id");
            if let Purpose::Rows(_) = purpose {
                query.push(" order by m.user_id");
            }
            purpose.push_limit(query);
            query.push(")");
        };
        query.push("(select distinct on (m.user_id) m.user_id, m.access_level, m.expires_at, m.created_at from (");
        push_members(query, "project_members", "m.project_id = ", Some(self.project.get()));
        query.push(" union all ");
        push_members(query, "group_members", "m.group_id = ", Some(self.namespace.get()));
        // `least` ignores null.
        query.push(" union all select m.user_id, least(m.access_level, s.access_level), ");
        query.push("least(m.expires_at, s.expires_at), m.created_at from project_shares s cross join lateral ");
        push_members(query, "group_members", "m.group_id = s.group_id", None);
        query.push(" m where s.project_id = ").push_bind(self.project.get());
        query.push(" and s.group_id = any(").push_bind(self.shared_with.clone());
        query.push(") and (s.expires_at is null or s.expires_at > ").push_bind(today).push(")");
        query.push(" union all select n.owner_id, ").push(AccessLevel::Owner.as_i16());
        query.push("::smallint, null::date, p.created_at from projects p join namespaces n on n.id = p.namespace_id");
        filter.push_join(query, "n.owner_id");
        query.push(" where n.owner_id is not null and p.id = ").push_bind(self.project.get());
        filter.push(query, "n.owner_id");
        query.push(") m order by m.user_id, m.access_level desc, m.expires_at desc nulls first) m");
    }
}

/// Lists everybody who has access to a project, sorted by user id.
pub async fn list_with_access(
    database: &Database,
    access: &ProjectAccess,
    filter: &MemberFilter,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Member>> {
    let list = PagedQuery {
        columns: MEMBER_COLUMNS,
        rows: "m.*",
        from: |query: &mut QueryBuilder<Postgres>, purpose| {
            query.push("from ");
            access.push(query, filter, purpose, today);
        },
        order: "m.user_id",
        page: table_alias("m join users u on u.id = m.user_id"),
        total: Total::Bounded,
        needs_custom_plan: true,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Returns the access of one user to a project, or None if the user has none.
pub async fn find_with_access(
    connection: &mut Connection,
    access: &ProjectAccess,
    user: UserId,
    today: NaiveDate,
) -> Result<Option<Member>> {
    let filter = MemberFilter { only: vec![user.get()], ..MemberFilter::default() };
    let mut query = QueryBuilder::new("select ");
    query.push(MEMBER_COLUMNS).push(" from ");
    access.push(&mut query, &filter, Purpose::AllRows, today);
    query.push(" join users u on u.id = m.user_id");
    Ok(query.build_query_as().fetch_optional(connection).await?)
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

/// Returns whether another user, who is no bot, owns the group through a membership without an expiry date.
pub async fn has_other_permanent_owner(connection: &mut Connection, group: NamespaceId, user: UserId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from group_members o where o.group_id = $1 and o.user_id <> $2 and o.access_level = 50
             and o.expires_at is null and not exists (select from bots b where b.user_id = o.user_id)) as "exists!""#,
        group.get(),
        user.get(),
    )
    .fetch_one(connection)
    .await?)
}

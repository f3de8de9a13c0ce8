//! Groups.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{CountedList, LargeListCache, PagedQuery, Purpose, Total, table_alias, visibility_bits};
use crate::projects::redirect;
use crate::{Connection, Database, Result, search};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Group {
    #[sqlx(try_from = "i64")]
    pub id: NamespaceId,
    pub name: String,
    pub path: String,
    pub description: String,
    #[sqlx(try_from = "i16", rename = "visibility_level")]
    pub visibility: Visibility,
    pub request_access_enabled: bool,
    pub lfs_enabled: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// The columns of a group `n`.
pub(crate) const COLUMNS: &str = "\
    n.id, n.name, n.path, n.description, n.visibility_level, n.request_access_enabled, n.lfs_enabled, n.created_at, \
    n.updated_at";

/// A reference to a group in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRef {
    Id(NamespaceId),
    Path(String),
}

/// A group, with the access level of a user in it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct GroupWithLevel {
    #[sqlx(flatten)]
    pub group: Group,
    access_level: Option<i16>,
}

impl GroupWithLevel {
    /// Returns the level of the user, or None if the user is not a member.
    pub fn level(&self) -> Option<AccessLevel> {
        self.access_level?.try_into().ok()
    }
}

/// Returns a query for the groups that meet a condition, with the access level of the user $1 on the day $2.
fn select_with_level(condition: &'static str) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("select m.access_level, ");
    query.push(COLUMNS).push(
        " from namespaces n left join group_members m on m.group_id = n.id and m.user_id = $1 \
         and (m.expires_at is null or m.expires_at > $2) where n.kind = 'group' and ",
    );
    query.push(condition);
    query
}

async fn find_row(
    connection: &mut Connection,
    id: NamespaceId,
    user: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<GroupWithLevel>> {
    let mut query = select_with_level("n.id = $3");
    let query = query.build_query_as().bind(user.map(UserId::get)).bind(today).bind(id.get());
    Ok(query.fetch_optional(connection).await?)
}

/// Finds a group, together with the access level of `user` in it. A path can also be a former path of the group.
pub async fn find_with_level(
    connection: &mut Connection,
    group: &GroupRef,
    user: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<GroupWithLevel>> {
    match group {
        GroupRef::Id(id) => find_row(connection, *id, user, today).await,
        GroupRef::Path(path) => {
            let path = path.to_ascii_lowercase();
            let mut query = select_with_level("lower(n.path) = $3");
            let query = query.build_query_as().bind(user.map(UserId::get)).bind(today).bind(&path);
            match query.fetch_optional(&mut *connection).await? {
                Some(found) => Ok(Some(found)),
                None => match redirect::resolve_group(connection, &path).await? {
                    Some(id) => find_row(connection, id, user, today).await,
                    None => Ok(None),
                },
            }
        }
    }
}

/// Returns the existing groups among `ids`.
pub async fn find_many(connection: &mut Connection, ids: &[NamespaceId]) -> Result<Vec<Group>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from namespaces n where n.kind = 'group' and n.id = any(").push_bind(ids).push(")");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Returns whether the user is a member of one of the group's projects.
pub async fn has_project_member(
    connection: &mut Connection,
    group: NamespaceId,
    user: UserId,
    today: NaiveDate,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from project_members m join projects p on p.id = m.project_id
             where m.user_id = $1 and p.namespace_id = $2 and (m.expires_at is null or m.expires_at > $3)) as "exists!""#,
        user.get(),
        group.get(),
        today,
    )
    .fetch_one(connection)
    .await?)
}

/// The set of groups that a list selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupScope {
    All,
    /// Groups in which the user is a member, with any level.
    MemberOf(UserId),
    /// Groups in which the user is a member of the group or of one of its projects, with any level.
    MemberWithin(UserId),
    OwnedBy(UserId),
    /// Groups in which the user is a member with at least this level.
    MemberWithLevel(UserId, AccessLevel),
    /// Groups with at least this visibility and, unless the viewer is anonymous, those of
    /// [`MemberWithin`](GroupScope::MemberWithin).
    VisibleTo(Option<UserId>, Visibility),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    NewestFirst,
    OldestFirst,
    Name { descending: bool },
    Path { descending: bool },
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::NewestFirst => "n.id desc",
            Self::OldestFirst => "n.id",
            Self::Name { descending: false } => "n.name, n.id",
            Self::Name { descending: true } => "n.name desc, n.id desc",
            Self::Path { descending: false } => "n.path, n.id",
            Self::Path { descending: true } => "n.path desc, n.id desc",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub scope: GroupScope,
    pub search: Option<String>,
    pub skip: Vec<i64>,
    pub visibility: Option<Visibility>,
    pub order: Order,
    pub today: NaiveDate,
}

impl Filter {
    fn total<'a>(&self, large_lists: &'a LargeListCache) -> Total<'a> {
        let groups_from = |min_visibility: Visibility| {
            CountedList::Groups(visibility_bits(Visibility::ALL.into_iter().filter(|it| *it >= min_visibility)))
        };
        match self.scope {
            _ if self.search.is_some() || !self.skip.is_empty() || self.visibility.is_some() => Total::Bounded,
            GroupScope::All => Total::SkipIfKnownLarge(groups_from(Visibility::Private), large_lists),
            GroupScope::VisibleTo(_, min_visibility) => {
                Total::SkipIfSubsetLarge(groups_from(min_visibility), large_lists)
            }
            GroupScope::MemberOf(_)
            | GroupScope::MemberWithin(_)
            | GroupScope::OwnedBy(_)
            | GroupScope::MemberWithLevel(..) => Total::Bounded,
        }
    }

    fn push(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        let GroupScope::VisibleTo(user, min_visibility) = self.scope else {
            query.push("from namespaces n where ");
            return self.push_conditions(self.scope, query);
        };
        // Each part is read from its own index in the requested order, up to the end of the page. A single condition
        // with `or` would have to skip every hidden group.
        let columns = if purpose.is_counting() { "n.id" } else { "n.*" };
        query.push("from (");
        let member_part = user.filter(|_| purpose != Purpose::SubsetTotal).map(GroupScope::MemberWithin);
        for scope in [Some(GroupScope::All), member_part].into_iter().flatten() {
            let is_public_part = scope == GroupScope::All;
            query.push(if is_public_part { "(" } else { " union (" });
            query.push("select ").push(columns).push(" from namespaces n where ");
            if is_public_part {
                query.push("n.visibility_level > 0 and n.visibility_level >= ").push_bind(min_visibility.as_i16());
                query.push(" and ");
            }
            self.push_conditions(scope, query);
            query.push(" order by ").push(self.order.sql());
            purpose.push_limit(query);
            query.push(")");
        }
        query.push(") n");
    }

    fn push_conditions(&self, scope: GroupScope, query: &mut QueryBuilder<Postgres>) {
        query.push("n.kind = 'group'");
        if let GroupScope::MemberOf(user)
        | GroupScope::MemberWithin(user)
        | GroupScope::OwnedBy(user)
        | GroupScope::MemberWithLevel(user, _) = scope
        {
            query.push(" and n.id in (select group_id from group_members where user_id = ").push_bind(user.get());
            if matches!(scope, GroupScope::OwnedBy(_)) {
                query.push(" and access_level = ").push(AccessLevel::Owner.as_i16());
            }
            if let GroupScope::MemberWithLevel(_, min_level) = scope {
                query.push(" and access_level >= ").push(min_level.as_i16());
            }
            query.push(" and (expires_at is null or expires_at > ").push_bind(self.today).push(")");
            if matches!(scope, GroupScope::MemberWithin(_)) {
                query.push(" union all select p.namespace_id from project_members m join projects p ");
                query.push("on p.id = m.project_id where m.user_id = ").push_bind(user.get());
                query.push(" and (m.expires_at is null or m.expires_at > ").push_bind(self.today).push(")");
            }
            query.push(")");
        }
        if let Some(term) = &self.search {
            query.push(" and ");
            search::push_contains(query, "n.search_text", term);
        }
        if !self.skip.is_empty() {
            query.push(" and n.id <> all(").push_bind(self.skip.clone()).push(")");
        }
        if let Some(visibility) = self.visibility {
            query.push(" and n.visibility_level = ").push_bind(visibility.as_i16());
        }
    }
}

pub async fn list(database: &Database, filter: &Filter, page: PageRequest) -> Result<Page<Group>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "n.*",
        from: |query: &mut QueryBuilder<Postgres>, purpose| filter.push(query, purpose),
        order: filter.order.sql(),
        page: table_alias("n"),
        total: filter.total(&database.large_lists),
        needs_custom_plan: filter.search.is_some() || !filter.skip.is_empty(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

#[derive(Clone, Debug)]
pub struct Attributes {
    pub name: String,
    pub path: String,
    pub description: String,
    pub visibility: Visibility,
    pub request_access_enabled: bool,
    pub lfs_enabled: bool,
}

pub async fn insert(connection: &mut Connection, attributes: &Attributes, now: DateTime<Utc>) -> Result<Group> {
    let mut query = QueryBuilder::new(
        "insert into namespaces as n (kind, name, path, description, visibility_level, request_access_enabled, \
         lfs_enabled, created_at, updated_at) values ('group', $1, $2, $3, $4, $5, $6, $7, $7) returning ",
    );
    Ok(query
        .push(COLUMNS)
        .build_query_as()
        .bind(&attributes.name)
        .bind(&attributes.path)
        .bind(&attributes.description)
        .bind(attributes.visibility.as_i16())
        .bind(attributes.request_access_enabled)
        .bind(attributes.lfs_enabled)
        .bind(now)
        .fetch_one(connection)
        .await?)
}

pub async fn update(
    connection: &mut Connection,
    id: NamespaceId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<Group> {
    let mut query = QueryBuilder::new(
        "update namespaces n set name = $2, path = $3, description = $4, visibility_level = $5, \
         request_access_enabled = $6, lfs_enabled = $7, updated_at = $8 where n.id = $1 and n.kind = 'group' returning ",
    );
    Ok(query
        .push(COLUMNS)
        .build_query_as()
        .bind(id.get())
        .bind(&attributes.name)
        .bind(&attributes.path)
        .bind(&attributes.description)
        .bind(attributes.visibility.as_i16())
        .bind(attributes.request_access_enabled)
        .bind(attributes.lfs_enabled)
        .bind(now)
        .fetch_one(connection)
        .await?)
}

pub async fn delete(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query!("delete from namespaces where id = $1 and kind = 'group'", id.get()).execute(connection).await?;
    Ok(())
}

/// Locks the group's row until the end of the transaction, which serializes changes of its owners.
pub async fn lock(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query_scalar!("select id from namespaces where id = $1 for no key update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Like [`lock`], but with `FOR UPDATE`: no project or member can be added to the group meanwhile.
pub async fn lock_exclusive(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query_scalar!("select id from namespaces where id = $1 for update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Returns the names of the groups that would have no permanent owner without this user, sorted by name. Bots do not count
/// as owners. Locks the groups of the user, so that the result holds until the end of the transaction.
pub async fn lock_solely_owned_by(connection: &mut Connection, user: UserId) -> Result<Vec<String>> {
    sqlx::query_scalar!(
        "select n.id from namespaces n where n.id in
           (select group_id from group_members where user_id = $1)
         order by n.id for no key update",
        user.get(),
    )
    .fetch_all(&mut *connection)
    .await?;
    // The level of owners is a literal, as in the condition of the index `group_members_owners`.
    Ok(sqlx::query_scalar!(
        "select n.name from group_members m join namespaces n on n.id = m.group_id
         where m.user_id = $1 and m.access_level = 50 and not exists
           (select from group_members o where o.group_id = m.group_id and o.access_level = 50 and o.user_id <> $1
              and o.expires_at is null and not exists (select from bots b where b.user_id = o.user_id))
         order by n.name",
        user.get(),
    )
    .fetch_all(connection)
    .await?)
}

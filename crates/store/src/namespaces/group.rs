use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{LargeLists, List, Purpose, Total, WholeList, bits, named};
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

macro_rules! group_columns {
    () => {
        "n.id, n.name, n.path, n.description, n.visibility_level, n.request_access_enabled, n.lfs_enabled, n.created_at, \
         n.updated_at"
    };
}

/// How a caller names a group.
#[derive(Clone, Debug)]
pub enum GroupRef {
    Id(NamespaceId),
    Path(String),
}

#[derive(sqlx::FromRow)]
struct GroupWithLevel {
    #[sqlx(flatten)]
    group: Group,
    access_level: Option<i16>,
}

/// The group together with the level `user` has in it.
pub async fn find_with_level(
    connection: &mut Connection,
    group: &GroupRef,
    user: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<(Group, Option<AccessLevel>)>> {
    macro_rules! query {
        ($condition:literal) => {
            concat!(
                "select ",
                group_columns!(),
                ", m.access_level from namespaces n left join group_members m on m.group_id = n.id and m.user_id = $2 \
                 and (m.expires_at is null or m.expires_at > $3) where n.kind = 'group' and ",
                $condition
            )
        };
    }
    let by_id =
        |id: NamespaceId| sqlx::query_as(query!("n.id = $1")).bind(id.get()).bind(user.map(UserId::get)).bind(today);
    let row: Option<GroupWithLevel> = match group {
        GroupRef::Id(id) => by_id(*id).fetch_optional(connection).await?,
        GroupRef::Path(path) => {
            let path = path.to_ascii_lowercase();
            let query = sqlx::query_as(query!("lower(n.path) = $1")).bind(&path);
            let found = query.bind(user.map(UserId::get)).bind(today).fetch_optional(&mut *connection).await?;
            match found {
                Some(found) => Some(found),
                None => match redirect::follow_group(connection, &path).await? {
                    Some(id) => by_id(id).fetch_optional(connection).await?,
                    None => None,
                },
            }
        }
    };
    Ok(row.map(|row| (row.group, row.access_level.and_then(|level| level.try_into().ok()))))
}

/// Whether the user is a member of one of the group's projects.
pub async fn has_project_of(
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

/// Which groups a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    All,
    /// With a membership of any level.
    MemberOf(UserId),
    /// With a membership of any level in the group or in one of its projects.
    MemberWithin(UserId),
    OwnedBy(UserId),
    /// Of at least this visibility, and those the user, or one of whose projects the user, is a member of.
    VisibleTo(UserId, Visibility),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    NewestFirst,
    Name { descending: bool },
    Path { descending: bool },
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::NewestFirst => "n.id desc",
            Self::Name { descending: false } => "n.name, n.id",
            Self::Name { descending: true } => "n.name desc, n.id desc",
            Self::Path { descending: false } => "n.path, n.id",
            Self::Path { descending: true } => "n.path desc, n.id desc",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub whose: Whose,
    pub search: Option<String>,
    pub skip: Vec<i64>,
    pub order: Order,
    pub today: NaiveDate,
}

impl Filter {
    fn total<'a>(&self, seen: &'a LargeLists) -> Total<'a> {
        let from = |least: Visibility| WholeList::Groups(bits(Visibility::ALL.into_iter().filter(|it| *it >= least)));
        match self.whose {
            _ if self.search.is_some() || !self.skip.is_empty() => Total::Bounded,
            Whose::All => Total::UnlessLarge(from(Visibility::Private), seen),
            Whose::VisibleTo(_, least) => Total::UnlessPartLarge(from(least), seen),
            Whose::MemberOf(_) | Whose::MemberWithin(_) | Whose::OwnedBy(_) => Total::Bounded,
        }
    }

    fn push(&self, query: &mut QueryBuilder<Postgres>, purpose: Purpose) {
        let Whose::VisibleTo(user, minimum) = self.whose else {
            query.push("from namespaces n where ");
            return self.push_conditions(self.whose, query);
        };
        // Either half is read from its own index in the wanted order and no further than this page reaches; one
        // condition with `or` would have to walk past every hidden group.
        let columns = if purpose.is_counting() { "n.id" } else { "n.*" };
        query.push("from (");
        for (half, visible) in [(Whose::All, true), (Whose::MemberWithin(user), false)] {
            if !visible && purpose == Purpose::TotalOfPart {
                break;
            }
            query.push(if visible { "(" } else { " union (" });
            query.push("select ").push(columns).push(" from namespaces n where ");
            if visible {
                query.push("n.visibility_level > 0 and n.visibility_level >= ").push_bind(minimum.level());
                query.push(" and ");
            }
            self.push_conditions(half, query);
            query.push(" order by ").push(self.order.sql());
            purpose.push_limit(query);
            query.push(")");
        }
        query.push(") n");
    }

    fn push_conditions(&self, whose: Whose, query: &mut QueryBuilder<Postgres>) {
        query.push("n.kind = 'group'");
        if let Whose::MemberOf(user) | Whose::MemberWithin(user) | Whose::OwnedBy(user) = whose {
            query.push(" and n.id in (select group_id from group_members where user_id = ").push_bind(user.get());
            if matches!(whose, Whose::OwnedBy(_)) {
                query.push(" and access_level = 50");
            }
            query.push(" and (expires_at is null or expires_at > ").push_bind(self.today).push(")");
            if matches!(whose, Whose::MemberWithin(_)) {
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
    }
}

pub async fn list(database: &Database, filter: &Filter, page: PageRequest) -> Result<Page<Group>> {
    let list = List {
        columns: group_columns!(),
        rows: "n.*",
        from: |query: &mut QueryBuilder<Postgres>, purpose| filter.push(query, purpose),
        order: filter.order.sql(),
        page: named("n"),
        total: filter.total(&database.large_lists),
        varies: filter.search.is_some() || !filter.skip.is_empty(),
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

pub async fn insert(connection: &mut Connection, a: &Attributes, now: DateTime<Utc>) -> Result<Group> {
    const QUERY: &str = concat!(
        "insert into namespaces as n (kind, name, path, description, visibility_level, request_access_enabled, \
         lfs_enabled, created_at, updated_at) values ('group', $1, $2, $3, $4, $5, $6, $7, $7) returning ",
        group_columns!()
    );
    Ok(sqlx::query_as(QUERY)
        .bind(&a.name)
        .bind(&a.path)
        .bind(&a.description)
        .bind(a.visibility.level())
        .bind(a.request_access_enabled)
        .bind(a.lfs_enabled)
        .bind(now)
        .fetch_one(connection)
        .await?)
}

pub async fn update(connection: &mut Connection, id: NamespaceId, a: &Attributes, now: DateTime<Utc>) -> Result<Group> {
    const QUERY: &str = concat!(
        "update namespaces n set name = $2, path = $3, description = $4, visibility_level = $5, \
         request_access_enabled = $6, lfs_enabled = $7, updated_at = $8 where n.id = $1 and n.kind = 'group' returning ",
        group_columns!()
    );
    Ok(sqlx::query_as(QUERY)
        .bind(id.get())
        .bind(&a.name)
        .bind(&a.path)
        .bind(&a.description)
        .bind(a.visibility.level())
        .bind(a.request_access_enabled)
        .bind(a.lfs_enabled)
        .bind(now)
        .fetch_one(connection)
        .await?)
}

pub async fn delete(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query!("delete from namespaces where id = $1 and kind = 'group'", id.get()).execute(connection).await?;
    Ok(())
}

/// Takes the group's row until the end of the transaction: whoever changes its owners comes one after the other.
pub async fn lock(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query_scalar!("select id from namespaces where id = $1 for no key update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// The same against everything: nothing can be put into the group meanwhile.
pub async fn lock_whole(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query_scalar!("select id from namespaces where id = $1 for update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Groups that would be without a lasting owner if this user went, by name; their rows are locked, so that it stays true.
pub async fn lock_solely_owned_by(connection: &mut Connection, user: UserId) -> Result<Vec<String>> {
    sqlx::query_scalar!(
        "select n.id from namespaces n where n.id in
           (select group_id from group_members where user_id = $1)
         order by n.id for no key update",
        user.get(),
    )
    .fetch_all(&mut *connection)
    .await?;
    Ok(sqlx::query_scalar!(
        "select n.name from group_members m join namespaces n on n.id = m.group_id
         where m.user_id = $1 and m.access_level = 50 and not exists
           (select from group_members o where o.group_id = m.group_id and o.access_level = 50 and o.user_id <> $1
              and o.expires_at is null)
         order by n.name",
        user.get(),
    )
    .fetch_all(connection)
    .await?)
}

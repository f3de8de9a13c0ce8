//! Namespaces of users and groups, in which projects are created.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{CountedList, PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result, search};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Namespace {
    #[sqlx(try_from = "i64")]
    pub id: NamespaceId,
    #[sqlx(try_from = "String")]
    pub kind: NamespaceKind,
    pub path: String,
    pub name: String,
    /// The primary address of the user. None for a group.
    pub owner_email: Option<String>,
}

/// The columns of [`Namespace`], of the namespace `n` and its owner `o`.
const COLUMNS: &str = "n.id, n.kind, n.path, n.name, o.email as owner_email";

/// Inserts the namespace of a user. The username is its path and its name.
pub async fn insert_for_user(
    connection: &mut Connection,
    user: UserId,
    username: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into namespaces (kind, owner_id, path, name, visibility_level, created_at, updated_at)
         values ('user', $1, $2, $2, $3, $4, $4)",
        user.get(),
        username,
        Visibility::Public.as_i16(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn rename_for_user(
    connection: &mut Connection,
    user: UserId,
    username: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "with redirected as (
           insert into namespace_redirects (path, namespace_id)
           select lower(path), id from namespaces where owner_id = $1 and lower(path) <> lower($2)
           on conflict (path) do update set namespace_id = excluded.namespace_id
         )
         update namespaces set path = $2, name = $2, updated_at = $3 where owner_id = $1 and path <> $2",
        user.get(),
        username,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The namespace in which a project is created.
#[derive(Clone, Copy, Debug)]
pub struct CreationTarget {
    pub id: NamespaceId,
    pub kind: NamespaceKind,
    pub owner: Option<UserId>,
    pub visibility: Visibility,
    /// The access level of the creator in the group.
    pub level: Option<AccessLevel>,
}

/// Finds the namespace with this id, or the creator's own one without an id. Locks its row until the end of the
/// transaction, so that the number of its projects does not change.
pub async fn lock_creation_target(
    connection: &mut Connection,
    id: Option<NamespaceId>,
    creator: UserId,
    today: NaiveDate,
) -> Result<Option<CreationTarget>> {
    let row = sqlx::query!(
        r#"select n.id, n.kind, n.owner_id, n.visibility_level, m.access_level as "access_level?"
           from namespaces n left join group_members m on m.group_id = n.id and m.user_id = $2
             and (m.expires_at is null or m.expires_at > $3)
           where n.id = coalesce($1, (select id from namespaces where owner_id = $2)) for no key update of n"#,
        id.map(NamespaceId::get),
        creator.get(),
        today,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.and_then(|row| {
        Some(CreationTarget {
            id: row.id.into(),
            kind: row.kind.try_into().ok()?,
            owner: row.owner_id.map(Into::into),
            visibility: row.visibility_level.try_into().ok()?,
            level: row.access_level.and_then(|level| level.try_into().ok()),
        })
    }))
}

/// Finds a namespace by its id, or by its path in any case. An id takes precedence.
pub async fn find_id(connection: &mut Connection, number_or_path: &str) -> Result<Option<NamespaceId>> {
    let number = number_or_path.parse::<i64>().ok();
    let id = sqlx::query_scalar!(
        "select id from namespaces where id = $1 or lower(path) = lower($2) order by (id = $1) desc nulls last limit 1",
        number,
        number_or_path,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// Finds a namespace by its path in any case, or by a former path. A current path takes precedence.
pub async fn find_by_path(connection: &mut Connection, path: &str) -> Result<Option<Namespace>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(
        " from (select 1 as rank, id from namespaces where lower(path) = $1 \
         union all select 2, namespace_id from namespace_redirects where path = $1) found \
         join namespaces n on n.id = found.id left join users o on o.id = n.owner_id order by found.rank limit 1",
    );
    Ok(query.build_query_as().bind(path.to_ascii_lowercase()).fetch_optional(connection).await?)
}

pub async fn find(connection: &mut Connection, id: NamespaceId) -> Result<Option<Namespace>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from namespaces n left join users o on o.id = n.owner_id where n.id = ");
    query.push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Returns whether a namespace has this path, in any case. Former paths do not count: they can be taken.
pub async fn is_path_taken(connection: &mut Connection, path: &str) -> Result<bool> {
    const QUERY: &str = "select exists (select from namespaces where lower(path) = $1)";
    Ok(sqlx::query_scalar(QUERY).bind(path.to_ascii_lowercase()).fetch_one(connection).await?)
}

/// Returns the first number from 1 to 100 that makes a free path if it is appended to this path.
pub async fn find_free_suffix(connection: &mut Connection, path: &str) -> Result<Option<i32>> {
    const QUERY: &str = "select n from generate_series(1, 100) n \
         where not exists (select from namespaces where lower(path) = $1 || n::text) order by n limit 1";
    Ok(sqlx::query_scalar(QUERY).bind(path.to_ascii_lowercase()).fetch_optional(connection).await?)
}

/// Locks the namespace's row with `FOR SHARE`, so that it does not change before the end of the transaction.
pub async fn lock_shared(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query_scalar!("select id from namespaces where id = $1 for share", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Finds the id of the user's own namespace.
pub async fn find_id_for_user(connection: &mut Connection, user: UserId) -> Result<Option<NamespaceId>> {
    let id = sqlx::query_scalar!("select id from namespaces where owner_id = $1", user.get())
        .fetch_optional(connection)
        .await?;
    Ok(id.map(Into::into))
}

/// Lists the namespaces in which `creator` can create projects, sorted by id: the user's own one, and groups in which
/// the user is at least Master. Without a creator, lists all namespaces.
pub async fn list(
    database: &Database,
    creator: Option<UserId>,
    term: Option<&str>,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Namespace>> {
    list_with_level(database, creator.map(|user| (user, AccessLevel::Master)), term, page, today).await
}

/// Lists the namespaces that a user owns, sorted by id: the user's own one, and groups.
pub async fn list_owned(
    database: &Database,
    owner: UserId,
    term: Option<&str>,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Namespace>> {
    list_with_level(database, Some((owner, AccessLevel::Owner)), term, page, today).await
}

async fn list_with_level(
    database: &Database,
    member: Option<(UserId, AccessLevel)>,
    term: Option<&str>,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Namespace>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "n.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from namespaces n where true");
            if let Some((user, min_level)) = member {
                query.push(" and n.id in (select id from namespaces where owner_id = ").push_bind(user.get());
                query.push(" union all select group_id from group_members where access_level >= ");
                query.push(min_level.as_i16()).push(" and user_id = ").push_bind(user.get());
                query.push(" and (expires_at is null or expires_at > ").push_bind(today);
                query.push("))");
            }
            if let Some(term) = term {
                query.push(" and ");
                search::push_contains(query, "n.search_text", term);
            }
        },
        order: "n.id",
        page: table_alias("n left join users o on o.id = n.owner_id"),
        total: match (member, term) {
            (None, None) => Total::SkipIfKnownLarge(CountedList::Namespaces, &database.large_lists),
            _ => Total::Bounded,
        },
        needs_custom_plan: term.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::{AccessLevel, Visibility};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, Total, WholeList, named};
use crate::{Connection, Database, Result, search};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Namespace {
    #[sqlx(try_from = "i64")]
    pub id: NamespaceId,
    #[sqlx(try_from = "String")]
    pub kind: NamespaceKind,
    pub path: String,
    pub name: String,
}

/// Path and name of a user's namespace are the username.
pub async fn insert_of_user(
    connection: &mut Connection,
    user: UserId,
    username: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into namespaces (kind, owner_id, path, name, visibility_level, created_at, updated_at)
         values ('user', $1, $2, $2, 20, $3, $3)",
        user.get(),
        username,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn rename_of_user(
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

/// Where a project is to be put.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub id: NamespaceId,
    pub kind: NamespaceKind,
    pub owner: Option<UserId>,
    pub visibility: Visibility,
    /// The creator's in the group.
    pub level: Option<AccessLevel>,
}

/// The namespace of that id, or without one the creator's own; its row is locked until the end of the transaction, so
/// that what is counted in it stays true.
pub async fn lock_target(
    connection: &mut Connection,
    id: Option<NamespaceId>,
    creator: UserId,
    today: NaiveDate,
) -> Result<Option<Target>> {
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
        Some(Target {
            id: row.id.into(),
            kind: row.kind.try_into().ok()?,
            owner: row.owner_id.map(Into::into),
            visibility: row.visibility_level.try_into().ok()?,
            level: row.access_level.and_then(|level| level.try_into().ok()),
        })
    }))
}

/// By its number, or by its path in any case.
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

/// Keeps the namespace as it is until the end of the transaction, together with others who do the same.
pub async fn hold(connection: &mut Connection, id: NamespaceId) -> Result<()> {
    sqlx::query_scalar!("select id from namespaces where id = $1 for share", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// The id of the user's own namespace.
pub async fn id_of_user(connection: &mut Connection, user: UserId) -> Result<Option<NamespaceId>> {
    let id = sqlx::query_scalar!("select id from namespaces where owner_id = $1", user.get())
        .fetch_optional(connection)
        .await?;
    Ok(id.map(Into::into))
}

/// Namespaces in which projects can be created: for `creator` the own one and groups with Master or more, for nobody
/// in particular all of them. By id.
pub async fn list(
    database: &Database,
    creator: Option<UserId>,
    term: Option<&str>,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Namespace>> {
    let list = List {
        columns: "n.id, n.kind, n.path, n.name",
        rows: "n.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from namespaces n where true");
            if let Some(user) = creator {
                query.push(" and n.id in (select id from namespaces where owner_id = ").push_bind(user.get());
                query.push(" union all select group_id from group_members where access_level >= 40 and user_id = ");
                query.push_bind(user.get()).push(" and (expires_at is null or expires_at > ").push_bind(today);
                query.push("))");
            }
            if let Some(term) = term {
                query.push(" and ");
                search::push_contains(query, "n.search_text", term);
            }
        },
        order: "n.id",
        page: named("n"),
        total: match (creator, term) {
            (None, None) => Total::UnlessLarge(WholeList::Namespaces, &database.large_lists),
            _ => Total::Bounded,
        },
        varies: term.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, WholeList};
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
        "update namespaces set path = $2, name = $2, updated_at = $3 where owner_id = $1 and path <> $2",
        user.get(),
        username,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Namespaces in which projects can be created: for `creator` the own one and groups with Master or more, for nobody
/// in particular all of them. By id.
pub async fn list(
    database: &Database,
    creator: Option<UserId>,
    term: Option<&str>,
    page: PageRequest,
    today: chrono::NaiveDate,
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
        page: "n",
        whole: (creator.is_none() && term.is_none()).then_some((WholeList::Namespaces, &*database.large_lists)),
        varies: term.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

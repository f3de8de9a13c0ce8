use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::{User, user_columns};
use crate::page::List;
use crate::{Connection, Database, Result, search};

/// A direct membership in a group, with its user.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Member {
    #[sqlx(flatten)]
    pub user: User,
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    pub expires_at: Option<NaiveDate>,
}

macro_rules! member_columns {
    () => {
        concat!(user_columns!(), ", m.access_level, m.expires_at")
    };
}

/// By user id; memberships that have run out are left out.
pub async fn list(
    database: &Database,
    group: NamespaceId,
    term: Option<&str>,
    page: PageRequest,
    today: NaiveDate,
) -> Result<Page<Member>> {
    let list = List {
        columns: member_columns!(),
        rows: "m.user_id, m.access_level, m.expires_at",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from group_members m join users u on u.id = m.user_id where m.group_id = ");
            query.push_bind(group.get()).push(" and (m.expires_at is null or m.expires_at > ").push_bind(today);
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
        page: "m join users u on u.id = m.user_id",
        whole: None,
        varies: term.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(
    connection: &mut Connection,
    group: NamespaceId,
    user: UserId,
    today: NaiveDate,
) -> Result<Option<Member>> {
    const QUERY: &str = concat!(
        "select ",
        member_columns!(),
        " from group_members m join users u on u.id = m.user_id where m.group_id = $1 and m.user_id = $2 \
         and (m.expires_at is null or m.expires_at > $3)"
    );
    Ok(sqlx::query_as(QUERY).bind(group.get()).bind(user.get()).bind(today).fetch_optional(connection).await?)
}

/// A membership that has run out is replaced.
pub async fn upsert(
    connection: &mut Connection,
    group: NamespaceId,
    user: UserId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into group_members (group_id, user_id, access_level, expires_at, created_at) values ($1, $2, $3, $4, $5)
         on conflict (group_id, user_id)
         do update set access_level = excluded.access_level, expires_at = excluded.expires_at",
        group.get(),
        user.get(),
        level.level(),
        expires_at,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, group: NamespaceId, user: UserId) -> Result<()> {
    sqlx::query!("delete from group_members where group_id = $1 and user_id = $2", group.get(), user.get())
        .execute(connection)
        .await?;
    Ok(())
}

/// Whether somebody else owns the group without an end.
pub async fn has_other_owner(connection: &mut Connection, group: NamespaceId, user: UserId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from group_members where group_id = $1 and user_id <> $2 and access_level = 50
             and expires_at is null) as "exists!""#,
        group.get(),
        user.get(),
    )
    .fetch_one(connection)
    .await?)
}

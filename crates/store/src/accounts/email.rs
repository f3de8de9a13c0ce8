use chrono::{DateTime, Utc};
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, Total, named};
use crate::{Connection, Database, Result};

/// A secondary address. The primary one is a field of its user and never listed here.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Email {
    #[sqlx(try_from = "i64")]
    pub id: EmailId,
    pub email: String,
}

/// Newest first.
pub async fn list(database: &Database, user: UserId, page: PageRequest) -> Result<Page<Email>> {
    let list = List {
        columns: "id, email",
        rows: "*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from emails where user_id = ").push_bind(user.get()).push(" and not is_primary");
        },
        order: "id desc",
        page: named("page"),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, user: UserId, id: EmailId) -> Result<Option<Email>> {
    Ok(sqlx::query_as!(
        Email,
        "select id, email from emails where user_id = $1 and id = $2 and not is_primary",
        user.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Returns whether an address is somebody's primary one.
pub async fn is_primary(connection: &mut Connection, email: &str) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select exists (select from emails where email = $1 and is_primary) as "exists!""#, email)
        .fetch_one(connection)
        .await?)
}

/// Returns whether an address is one of a user's, primary or not. The caller holds the lock of the user's row.
pub async fn is_of(connection: &mut Connection, user: UserId, email: &str) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from emails where user_id = $1 and email = $2) as "exists!""#,
        user.get(),
        email,
    )
    .fetch_one(connection)
    .await?)
}

pub async fn insert(
    connection: &mut Connection,
    user: UserId,
    email: &str,
    is_primary: bool,
    now: DateTime<Utc>,
) -> Result<Email> {
    Ok(sqlx::query_as!(
        Email,
        "insert into emails (user_id, email, is_primary, created_at) values ($1, $2, $3, $4) returning id, email",
        user.get(),
        email,
        is_primary,
        now,
    )
    .fetch_one(connection)
    .await?)
}

/// Makes the address the user's primary one. If it is one of the user's secondary addresses already, the two change
/// places; otherwise it takes the place of the old one.
pub async fn set_primary(connection: &mut Connection, user: UserId, email: &str) -> Result<()> {
    let old = sqlx::query_scalar!(
        "update emails set is_primary = false where user_id = $1 and is_primary returning id",
        user.get(),
    )
    .fetch_one(&mut *connection)
    .await?;
    let promoted =
        sqlx::query!("update emails set is_primary = true where user_id = $1 and email = $2", user.get(), email)
            .execute(&mut *connection)
            .await?;
    if promoted.rows_affected() == 0 {
        sqlx::query!("update emails set email = $2, is_primary = true where id = $1", old, email)
            .execute(connection)
            .await?;
    }
    Ok(())
}

pub async fn delete(connection: &mut Connection, user: UserId, id: EmailId) -> Result<Option<Email>> {
    Ok(sqlx::query_as!(
        Email,
        "delete from emails where user_id = $1 and id = $2 and not is_primary returning id, email",
        user.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

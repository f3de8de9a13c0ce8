//! E-mail addresses of users.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// A secondary address. The primary address is a field of the user and is never listed here.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Email {
    #[sqlx(try_from = "i64")]
    pub id: EmailId,
    pub email: String,
}

/// Lists the secondary addresses of a user, newest first.
pub async fn list(database: &Database, user: UserId, page: PageRequest) -> Result<Page<Email>> {
    let list = PagedQuery {
        columns: "id, email",
        rows: "*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from emails where user_id = ").push_bind(user.get()).push(" and not is_primary");
        },
        order: "id desc",
        page: table_alias("page"),
        total: Total::Bounded,
        needs_custom_plan: false,
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

/// Returns whether an address is the primary address of any user.
pub async fn is_primary(connection: &mut Connection, email: &str) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select exists (select from emails where email = $1 and is_primary) as "exists!""#, email)
        .fetch_one(connection)
        .await?)
}

/// Returns whether an address is one of a user's, primary or not. The caller holds the lock of the user's row.
pub async fn belongs_to_user(connection: &mut Connection, user: UserId, email: &str) -> Result<bool> {
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

/// Makes an address the primary address of a user. If it is a secondary address of the user, the two are swapped;
/// otherwise it replaces the old primary address.
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

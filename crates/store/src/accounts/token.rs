//! Access tokens and session tokens. Only digests of their secrets are stored.

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::{Scopes, TokenKind};
use holdfast_domain::ids::{TokenId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result, search};

/// A token without its secret, which is not stored.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Token {
    #[sqlx(try_from = "i64")]
    pub id: TokenId,
    #[sqlx(try_from = "i64")]
    pub user_id: UserId,
    #[sqlx(try_from = "String")]
    pub kind: TokenKind,
    pub name: String,
    #[sqlx(try_from = "Vec<String>")]
    pub scopes: Scopes,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub last_used_at: Option<DateTime<Utc>>,
}

impl Token {
    pub fn is_active(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

/// The columns of [`Token`].
const COLUMNS: &str = "id, user_id, kind, name, scopes, created_at, expires_at, revoked_at, last_used_at";

/// Records that a token is used now.
pub async fn record_use(connection: &mut Connection, id: TokenId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update tokens set last_used_at = $2 where id = $1", id.get(), now).execute(connection).await?;
    Ok(())
}

pub struct NewToken<'a> {
    pub user: UserId,
    pub kind: TokenKind,
    pub name: &'a str,
    pub digest: &'a [u8],
    pub scopes: &'a Scopes,
    pub expires_at: Option<DateTime<Utc>>,
}

pub async fn insert(connection: &mut Connection, new: &NewToken<'_>, now: DateTime<Utc>) -> Result<Token> {
    const QUERY: &str = "insert into tokens (user_id, kind, name, digest, scopes, created_at, expires_at) \
         values ($1, $2, $3, $4, $5, $6, $7) \
         returning id, user_id, kind, name, scopes, created_at, expires_at, revoked_at, last_used_at";
    Ok(sqlx::query_as(QUERY)
        .bind(new.user.get())
        .bind(new.kind.as_str())
        .bind(new.name)
        .bind(new.digest)
        .bind(new.scopes.to_strings())
        .bind(now)
        .bind(new.expires_at)
        .fetch_one(connection)
        .await?)
}

/// Which tokens a list contains.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Whether to list impersonation tokens instead of personal tokens.
    pub is_impersonation: bool,
    /// None lists the tokens of all users.
    pub user: Option<UserId>,
    pub is_revoked: Option<bool>,
    /// Whether the tokens are valid: neither revoked nor expired.
    pub is_active: Option<bool>,
    /// Part of the name.
    pub search: Option<String>,
}

impl Filter {
    fn push(&self, query: &mut QueryBuilder<Postgres>, now: DateTime<Utc>) {
        query.push("from tokens where kind = ");
        query.push(if self.is_impersonation { "'impersonation'" } else { "'personal'" });
        if let Some(user) = self.user {
            query.push(" and user_id = ").push_bind(user.get());
        }
        if let Some(is_revoked) = self.is_revoked {
            query.push(if is_revoked { " and revoked_at is not null" } else { " and revoked_at is null" });
        }
        if let Some(is_active) = self.is_active {
            query.push(if is_active { " and " } else { " and not " });
            query.push("(revoked_at is null and (expires_at is null or expires_at > ").push_bind(now).push("))");
        }
        if let Some(term) = &self.search {
            query.push(" and ");
            search::push_contains(query, "lower(name collate \"und-x-icu\") collate \"C\"", term);
        }
    }
}

/// Lists tokens, newest first.
pub async fn list(database: &Database, filter: &Filter, page: PageRequest, now: DateTime<Utc>) -> Result<Page<Token>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "*",
        from: |query: &mut QueryBuilder<Postgres>, _| filter.push(query, now),
        order: "id desc",
        page: table_alias("page"),
        total: Total::Bounded,
        needs_custom_plan: filter.search.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Finds a token of any user. Tokens of sessions are not found.
pub async fn find(connection: &mut Connection, id: TokenId) -> Result<Option<Token>> {
    const QUERY: &str = "select id, user_id, kind, name, scopes, created_at, expires_at, revoked_at, last_used_at \
         from tokens where id = $1 and kind in ('personal', 'impersonation', 'bot')";
    Ok(sqlx::query_as(QUERY).bind(id.get()).fetch_optional(connection).await?)
}

/// Revokes a token of this kind. Returns false if the user has no such token or it is revoked already.
pub async fn revoke(
    connection: &mut Connection,
    user: UserId,
    kind: TokenKind,
    id: TokenId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let updated = sqlx::query!(
        "update tokens set revoked_at = $4 where user_id = $1 and kind = $2 and id = $3 and revoked_at is null",
        user.get(),
        kind.as_str(),
        id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() > 0)
}

/// Deletes the expired sessions of a user, and all but the newest `max_sessions`.
pub async fn prune_sessions(
    connection: &mut Connection,
    user: UserId,
    max_sessions: i64,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "delete from tokens where user_id = $1 and kind = 'session' and (expires_at <= $3 or id not in
           (select id from tokens where user_id = $1 and kind = 'session' order by id desc limit $2))",
        user.get(),
        max_sessions,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes all sessions of a user, for example after a password reset.
pub async fn delete_sessions(connection: &mut Connection, user: UserId) -> Result<()> {
    sqlx::query!("delete from tokens where user_id = $1 and kind = 'session'", user.get()).execute(connection).await?;
    Ok(())
}

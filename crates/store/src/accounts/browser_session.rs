//! Sessions of browsers. Only digests of their secrets are stored.
//!
//! A session is valid until it expires, and only while the password of the user is the one that the session knows.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{BrowserSessionId, UserId};

use crate::{Connection, Result};

/// A session without its secret, which is not stored.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct BrowserSession {
    #[sqlx(try_from = "i64", rename = "session_id")]
    pub id: BrowserSessionId,
    /// Whether the session outlives the browser ("stay signed in").
    #[sqlx(rename = "session_is_remembered")]
    pub is_remembered: bool,
    #[sqlx(rename = "session_created_at")]
    pub created_at: DateTime<Utc>,
    /// The last use, with a precision of ten minutes.
    #[sqlx(rename = "session_seen_at")]
    pub seen_at: DateTime<Utc>,
    #[sqlx(rename = "session_expires_at")]
    pub expires_at: DateTime<Utc>,
    /// When the user last entered the password.
    #[sqlx(rename = "session_confirmed_at")]
    pub confirmed_at: DateTime<Utc>,
    /// The network of the browser, such as `192.0.2.0/24`.
    #[sqlx(rename = "session_address")]
    pub address: String,
    /// The browser and its operating system.
    #[sqlx(rename = "session_agent")]
    pub agent: String,
}

/// The columns of a [`BrowserSession`] in the table with the alias `c`.
pub(crate) const COLUMNS: &str = "\
    c.id as session_id, c.is_remembered as session_is_remembered, c.created_at as session_created_at, \
    c.seen_at as session_seen_at, c.expires_at as session_expires_at, c.confirmed_at as session_confirmed_at, \
    c.address as session_address, c.agent as session_agent";

/// The value of `password_digest` that belongs to the current password of the user `u`.
pub(crate) const PASSWORD_DIGEST: &str = "sha256(convert_to(u.password_hash, 'UTF8'))";

/// Records that a session is used now, and when it ends.
pub async fn record_use(
    connection: &mut Connection,
    id: BrowserSessionId,
    expires_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    const QUERY: &str = "update browser_sessions set seen_at = $2, expires_at = $3 where id = $1";
    sqlx::query(QUERY).bind(id.get()).bind(now).bind(expires_at).execute(connection).await?;
    Ok(())
}

pub struct NewBrowserSession<'a> {
    pub user: UserId,
    pub digest: &'a [u8],
    pub is_remembered: bool,
    pub expires_at: DateTime<Utc>,
    pub address: &'a str,
    pub agent: &'a str,
}

/// Inserts a session of a user who has just entered the current password.
pub async fn insert(
    connection: &mut Connection,
    new: &NewBrowserSession<'_>,
    now: DateTime<Utc>,
) -> Result<BrowserSession> {
    static QUERY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "insert into browser_sessions as c (user_id, digest, password_digest, is_remembered, created_at, seen_at, \
               expires_at, confirmed_at, address, agent) \
             select u.id, $2, {PASSWORD_DIGEST}, $3, $4, $4, $5, $4, $6, $7 from users u where u.id = $1 \
             returning {COLUMNS}"
        )
    });
    Ok(sqlx::query_as(QUERY.as_str())
        .bind(new.user.get())
        .bind(new.digest)
        .bind(new.is_remembered)
        .bind(now)
        .bind(new.expires_at)
        .bind(new.address)
        .bind(new.agent)
        .fetch_one(connection)
        .await?)
}

/// Lists the valid sessions of a user, the one used last first. Their number is bounded by [`prune`].
pub async fn list_all(connection: &mut Connection, user: UserId, now: DateTime<Utc>) -> Result<Vec<BrowserSession>> {
    static QUERY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "select {COLUMNS} from browser_sessions c join users u on u.id = c.user_id \
             where c.user_id = $1 and c.expires_at > $2 and c.password_digest = {PASSWORD_DIGEST} \
             order by c.seen_at desc, c.id desc"
        )
    });
    Ok(sqlx::query_as(QUERY.as_str()).bind(user.get()).bind(now).fetch_all(connection).await?)
}

/// Records that a user has entered the current password in a session.
pub async fn confirm(
    connection: &mut Connection,
    user: UserId,
    id: BrowserSessionId,
    now: DateTime<Utc>,
) -> Result<()> {
    static QUERY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "update browser_sessions c set confirmed_at = $3, password_digest = {PASSWORD_DIGEST} \
             from users u where u.id = c.user_id and u.id = $1 and c.id = $2"
        )
    });
    sqlx::query(QUERY.as_str()).bind(user.get()).bind(id.get()).bind(now).execute(connection).await?;
    Ok(())
}

/// Deletes the session with this secret. Does nothing if there is none.
pub async fn delete(connection: &mut Connection, digest: &[u8]) -> Result<()> {
    sqlx::query("delete from browser_sessions where digest = $1").bind(digest).execute(connection).await?;
    Ok(())
}

/// Deletes a session of a user. Returns false if the user has no such session.
pub async fn delete_for_user(connection: &mut Connection, user: UserId, id: BrowserSessionId) -> Result<bool> {
    const QUERY: &str = "delete from browser_sessions where user_id = $1 and id = $2";
    Ok(sqlx::query(QUERY).bind(user.get()).bind(id.get()).execute(connection).await?.rows_affected() > 0)
}

/// Deletes all sessions of a user, except the session `kept`.
pub async fn delete_all_for_user(
    connection: &mut Connection,
    user: UserId,
    kept: Option<BrowserSessionId>,
) -> Result<()> {
    const QUERY: &str = "delete from browser_sessions where user_id = $1 and id is distinct from $2";
    sqlx::query(QUERY).bind(user.get()).bind(kept.map(BrowserSessionId::get)).execute(connection).await?;
    Ok(())
}

/// Deletes the expired sessions of a user, and all but the newest `max_sessions`.
pub async fn prune(connection: &mut Connection, user: UserId, max_sessions: i64, now: DateTime<Utc>) -> Result<()> {
    const QUERY: &str = "delete from browser_sessions where user_id = $1 and (expires_at <= $3 or id not in \
         (select id from browser_sessions where user_id = $1 order by id desc limit $2))";
    sqlx::query(QUERY).bind(user.get()).bind(max_sessions).bind(now).execute(connection).await?;
    Ok(())
}

/// Deletes at most `limit` expired sessions, and returns how many.
pub async fn delete_expired_batch(connection: &mut Connection, now: DateTime<Utc>, limit: i64) -> Result<u64> {
    const QUERY: &str = "delete from browser_sessions where id in \
         (select id from browser_sessions where expires_at <= $1 limit $2)";
    Ok(sqlx::query(QUERY).bind(now).bind(limit).execute(connection).await?.rows_affected())
}

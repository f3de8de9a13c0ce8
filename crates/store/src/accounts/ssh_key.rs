//! SSH public keys of users. The table also has the deploy keys of projects, which belong to no user.

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::PublicKey;
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct SshKey {
    #[sqlx(try_from = "i64")]
    pub id: SshKeyId,
    pub title: String,
    pub key: String,
    pub created_at: DateTime<Utc>,
}

/// Lists the keys of a user, newest first.
pub async fn list(database: &Database, user: UserId, page: PageRequest) -> Result<Page<SshKey>> {
    let list = PagedQuery {
        columns: "id, title, key, created_at",
        rows: "*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from ssh_keys where user_id = ").push_bind(user.get());
        },
        order: "id desc",
        page: table_alias("page"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Returns at most `limit` keys of a user, the oldest first. `after` is the last one of the batch before.
pub async fn next_batch(
    connection: &mut Connection,
    user: UserId,
    after: Option<SshKeyId>,
    limit: i64,
) -> Result<Vec<SshKey>> {
    Ok(sqlx::query_as!(
        SshKey,
        "select id, title, key, created_at from ssh_keys where user_id = $1 and id > $2 order by id limit $3",
        user.get(),
        after.map_or(0, SshKeyId::get),
        limit,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn find(connection: &mut Connection, user: UserId, id: SshKeyId) -> Result<Option<SshKey>> {
    Ok(sqlx::query_as!(
        SshKey,
        "select id, title, key, created_at from ssh_keys where user_id = $1 and id = $2",
        user.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

pub async fn insert(
    connection: &mut Connection,
    user: UserId,
    title: &str,
    key: &PublicKey,
    now: DateTime<Utc>,
) -> Result<SshKey> {
    Ok(sqlx::query_as!(
        SshKey,
        "insert into ssh_keys (user_id, title, key, fingerprint, created_at) values ($1, $2, $3, $4, $5)
         returning id, title, key, created_at",
        user.get(),
        title,
        key.as_str(),
        key.fingerprint(),
        now,
    )
    .fetch_one(connection)
    .await?)
}

pub async fn delete(connection: &mut Connection, user: UserId, id: SshKeyId) -> Result<Option<SshKey>> {
    Ok(sqlx::query_as!(
        SshKey,
        "delete from ssh_keys where user_id = $1 and id = $2 returning id, title, key, created_at",
        user.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// A key with which a client authenticates.
#[derive(Clone, Debug)]
pub struct KnownKey {
    pub id: SshKeyId,
    pub title: String,
    /// The user who owns the key. None if it is a deploy key.
    pub owner: Option<UserId>,
}

/// Finds the key with this fingerprint.
pub async fn find_by_fingerprint(connection: &mut Connection, fingerprint: &str) -> Result<Option<KnownKey>> {
    let row = sqlx::query!("select id, title, user_id from ssh_keys where fingerprint = $1", fingerprint)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| KnownKey { id: row.id.into(), title: row.title, owner: row.user_id.map(Into::into) }))
}

//! Reads the database for a backup: a snapshot at one point in time, and the object keys that belong to it.

use chrono::{DateTime, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use sqlx::{Connection as _, PgConnection};

use crate::{Connection, Result};

/// A read-only transaction that holds an exported snapshot of the database open until it is closed or dropped.
pub struct DatabaseSnapshot {
    connection: PgConnection,
    /// The name under which other connections can import the snapshot.
    pub snapshot_id: String,
    pub taken_at: DateTime<Utc>,
    /// The version of the newest applied migration.
    pub schema_version: i64,
}

impl DatabaseSnapshot {
    pub async fn open(url: &str) -> Result<Self> {
        let mut connection = PgConnection::connect(url).await?;
        sqlx::query("begin isolation level repeatable read, read only").execute(&mut connection).await?;
        // `now()` is the start of the transaction, before the snapshot is taken: everything committed before it is
        // included.
        const QUERY: &str =
            "select pg_export_snapshot(), now(), (select max(version) from _sqlx_migrations where success)";
        let (snapshot, at, schema) = sqlx::query_as(QUERY).fetch_one(&mut connection).await?;
        Ok(Self { connection, snapshot_id: snapshot, taken_at: at, schema_version: schema })
    }

    /// Returns the keys of all completely stored objects that a pack, an upload or a build of the snapshot refers to.
    pub fn object_keys(&mut self) -> BoxStream<'_, Result<String>> {
        let keys = sqlx::query_scalar!(
            r#"select object_key as "key!" from packs where state = 'live' and object_key is not null
               union all
               select object_key from uploads where stored_at is not null and project_id is not null
               union all
               select object_key from build_objects where stored_at is not null and build_id is not null"#
        );
        keys.fetch(&mut self.connection).map_err(Into::into).boxed()
    }

    pub async fn close(self) -> Result<()> {
        Ok(self.connection.close().await?)
    }
}

/// Returns whether a row still refers to an object. Rows of deleted projects do not count: their objects are deleted
/// before the rows are.
pub async fn is_needed(connection: &mut Connection, key: &str) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from packs where object_key = $1 and state = 'live')
             or exists (select from uploads u join projects p on p.id = u.project_id
               where u.object_key = $1 and p.namespace_id is not null)
             or exists (select from build_objects o join builds b on b.id = o.build_id join projects p on p.id = b.project_id
               where o.object_key = $1 and p.namespace_id is not null) as "needed!""#,
        key,
    )
    .fetch_one(connection)
    .await?)
}

/// Returns whether a database has no tables outside of the system schemas.
pub async fn is_empty(url: &str) -> Result<bool> {
    let mut connection = PgConnection::connect(url).await?;
    const QUERY: &str = "select not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace \
        where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema'))";
    let is_empty = sqlx::query_scalar(QUERY).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(is_empty)
}

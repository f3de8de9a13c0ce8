//! The database as of one moment, and what of the object store belongs to it.

use chrono::{DateTime, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use sqlx::{Connection as _, PgConnection};

use crate::{Connection, Result};

/// As long as this lives, the database can be read as it was then.
pub struct Moment {
    connection: PgConnection,
    /// By this name other connections see the same.
    pub snapshot: String,
    pub at: DateTime<Utc>,
    /// The last step of the schema.
    pub schema: i64,
}

impl Moment {
    pub async fn now(url: &str) -> Result<Self> {
        let mut connection = PgConnection::connect(url).await?;
        sqlx::query("begin isolation level repeatable read, read only").execute(&mut connection).await?;
        // By the clock behind the snapshot: all that was committed before this time is in it.
        const QUERY: &str =
            "select pg_export_snapshot(), now(), (select max(version) from _sqlx_migrations where success)";
        let (snapshot, at, schema) = sqlx::query_as(QUERY).fetch_one(&mut connection).await?;
        Ok(Self { connection, snapshot, at, schema })
    }

    /// The keys of all that is complete and belongs to something.
    pub fn objects(&mut self) -> BoxStream<'_, Result<String>> {
        let keys = sqlx::query_scalar!(
            r#"select object_key as "key!" from packs where state = 'live' and object_key is not null
               union all
               select object_key from uploads where stored_at is not null and project_id is not null
               union all
               select object_key from build_objects where stored_at is not null and build_id is not null"#
        );
        keys.fetch(&mut self.connection).map_err(Into::into).boxed()
    }

    pub async fn end(self) -> Result<()> {
        Ok(self.connection.close().await?)
    }
}

/// Whether something still needs that object. Those of a deleted project go before their rows.
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

/// Whether nothing was ever made there.
pub async fn is_empty(url: &str) -> Result<bool> {
    let mut connection = PgConnection::connect(url).await?;
    const QUERY: &str = "select not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace \
        where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema'))";
    let is_empty = sqlx::query_scalar(QUERY).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(is_empty)
}

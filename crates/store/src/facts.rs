//! What the database's server says of itself, for who looks whether it can be relied on.

use chrono::{DateTime, Utc};
use sqlx::{Connection as _, PgConnection};

use crate::migrate::Error;

#[derive(Debug, sqlx::FromRow)]
pub struct Facts {
    /// As PostgreSQL numbers itself: 150004 is 15.4.
    pub version: i32,
    /// Those of `fsync`, `full_page_writes` and `synchronous_commit` that are off: a crash forgets what was committed.
    pub careless: Vec<String>,
    pub max_connections: i32,
    pub is_replica: bool,
    /// How many follow at the moment, and which of them a commit waits for.
    pub replicas: i64,
    pub awaited: String,
    pub encoding: String,
    pub now: DateTime<Utc>,
}

pub async fn read(url: &str) -> Result<Facts, Error> {
    const QUERY: &str = "\
        select current_setting('server_version_num')::int as version, \
          array(select name::text from pg_settings \
            where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off') as careless, \
          current_setting('max_connections')::int as max_connections, \
          pg_is_in_recovery() as is_replica, \
          (select count(*) from pg_stat_replication) as replicas, \
          current_setting('synchronous_standby_names') as awaited, \
          current_setting('server_encoding') as encoding, \
          clock_timestamp() as now";
    let mut connection = PgConnection::connect(url).await?;
    let facts = sqlx::query_as(QUERY).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(facts)
}

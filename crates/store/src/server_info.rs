//! What the PostgreSQL server reports about itself, for checks of its configuration.

use chrono::{DateTime, Utc};
use sqlx::{Connection as _, PgConnection};

use crate::migrate::Error;

#[derive(Debug, sqlx::FromRow)]
pub struct ServerInfo {
    /// The version as PostgreSQL encodes it: 150004 is 15.4.
    pub version: i32,
    /// The settings among `fsync`, `full_page_writes` and `synchronous_commit` that are off, so that a crash can lose
    /// committed transactions.
    pub unsafe_settings: Vec<String>,
    pub max_connections: i32,
    pub is_replica: bool,
    /// The number of connected replicas.
    pub replicas: i64,
    /// The value of `synchronous_standby_names`: the replicas that a commit waits for.
    pub synchronous_standby_names: String,
    pub encoding: String,
    pub now: DateTime<Utc>,
}

pub async fn read(url: &str) -> Result<ServerInfo, Error> {
    const QUERY: &str = "\
        select current_setting('server_version_num')::int as version, \
          array(select name::text from pg_settings \
            where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off') as unsafe_settings, \
          current_setting('max_connections')::int as max_connections, \
          pg_is_in_recovery() as is_replica, \
          (select count(*) from pg_stat_replication) as replicas, \
          current_setting('synchronous_standby_names') as synchronous_standby_names, \
          current_setting('server_encoding') as encoding, \
          clock_timestamp() as now";
    let mut connection = PgConnection::connect(url).await?;
    let info = sqlx::query_as(QUERY).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(info)
}

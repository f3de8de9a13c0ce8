//! SSH host keys of the instance.

use chrono::{DateTime, Utc};

use crate::{Connection, Result};

/// Finds the private host key for an algorithm, in the format of OpenSSH.
pub async fn find(connection: &mut Connection, algorithm: &str) -> Result<Option<String>> {
    let key = sqlx::query_scalar!("select private_key from ssh_host_keys where algorithm = $1", algorithm)
        .fetch_optional(connection)
        .await?;
    Ok(key)
}

/// Inserts a host key unless another node has inserted one for the algorithm before.
pub async fn insert_if_missing(
    connection: &mut Connection,
    algorithm: &str,
    private_key: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into ssh_host_keys (algorithm, private_key, created_at) values ($1, $2, $3) on conflict do nothing",
        algorithm,
        private_key,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

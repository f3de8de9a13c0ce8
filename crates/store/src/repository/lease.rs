//! Named leases, each held by one node at a time. They expire by the clock of the database, which all nodes share.

use std::time::Duration;

use sqlx::postgres::types::PgInterval;

use crate::{Connection, Error, Result};

/// A lease that is held until it is released or expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    token: i64,
}

fn interval(duration: Duration) -> Result<PgInterval> {
    PgInterval::try_from(duration).map_err(|_| Error::invalid_value("a length of time"))
}

/// Acquires a lease. Returns None if it is held and has not expired.
pub async fn acquire(connection: &mut Connection, name: &str, duration: Duration) -> Result<Option<Lease>> {
    let token = sqlx::query_scalar!(
        "insert into leases (name, token, held_until) values ($1, nextval('lease_tokens'), now() + $2)
         on conflict (name) do update set token = excluded.token, held_until = excluded.held_until
           where leases.held_until < now()
         returning token",
        name,
        interval(duration)?,
    )
    .fetch_optional(connection)
    .await?;
    Ok(token.map(|token| Lease { name: name.to_owned(), token }))
}

/// Renews a lease. Returns false if it was released, or expired and was acquired by another holder.
pub async fn renew(connection: &mut Connection, lease: &Lease, duration: Duration) -> Result<bool> {
    let renewed = sqlx::query!(
        "update leases set held_until = now() + $3 where name = $1 and token = $2",
        lease.name,
        lease.token,
        interval(duration)?,
    )
    .execute(connection)
    .await?;
    Ok(renewed.rows_affected() > 0)
}

/// Returns whether the lease is still held. If so, no other holder can acquire it until the end of the transaction.
pub async fn lock_if_held(connection: &mut Connection, lease: &Lease) -> Result<bool> {
    let found =
        sqlx::query!("select token from leases where name = $1 and token = $2 for share", lease.name, lease.token)
            .fetch_optional(connection)
            .await?;
    Ok(found.is_some())
}

pub async fn release(connection: &mut Connection, lease: &Lease) -> Result<()> {
    sqlx::query!("delete from leases where name = $1 and token = $2", lease.name, lease.token)
        .execute(connection)
        .await?;
    Ok(())
}

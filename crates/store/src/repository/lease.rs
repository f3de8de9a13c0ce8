//! What only one may do at a time. The time is the database's, which all nodes share.

use std::time::Duration;

use sqlx::postgres::types::PgInterval;

use crate::{Connection, Error, Result};

/// The right to do it, until it is given back or has run out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    token: i64,
}

fn interval(time: Duration) -> Result<PgInterval> {
    PgInterval::try_from(time).map_err(|_| Error::unreadable("a length of time"))
}

/// None if somebody else has it.
pub async fn take(connection: &mut Connection, name: &str, time: Duration) -> Result<Option<Lease>> {
    let token = sqlx::query_scalar!(
        "insert into leases (name, token, held_until) values ($1, nextval('lease_tokens'), now() + $2)
         on conflict (name) do update set token = excluded.token, held_until = excluded.held_until
           where leases.held_until < now()
         returning token",
        name,
        interval(time)?,
    )
    .fetch_optional(connection)
    .await?;
    Ok(token.map(|token| Lease { name: name.to_owned(), token }))
}

/// False if it has run out and somebody else has it.
pub async fn renew(connection: &mut Connection, lease: &Lease, time: Duration) -> Result<bool> {
    let renewed = sqlx::query!(
        "update leases set held_until = now() + $3 where name = $1 and token = $2",
        lease.name,
        lease.token,
        interval(time)?,
    )
    .execute(connection)
    .await?;
    Ok(renewed.rows_affected() > 0)
}

/// Whether it is still held; then it is until the end of the transaction.
pub async fn is_held(connection: &mut Connection, lease: &Lease) -> Result<bool> {
    let found =
        sqlx::query!("select token from leases where name = $1 and token = $2 for share", lease.name, lease.token)
            .fetch_optional(connection)
            .await?;
    Ok(found.is_some())
}

pub async fn give_back(connection: &mut Connection, lease: &Lease) -> Result<()> {
    sqlx::query!("delete from leases where name = $1 and token = $2", lease.name, lease.token)
        .execute(connection)
        .await?;
    Ok(())
}

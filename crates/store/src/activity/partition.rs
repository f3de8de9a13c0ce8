//! The tables that grow with time, a part for each stretch of it.

use chrono::{DateTime, NaiveDate, Utc};

use crate::{Connection, Result};

/// What is needed from that day on for some while. Called at every migration and every day, it leaves room for weeks in
/// which nothing calls it.
pub async fn make(connection: &mut Connection, today: NaiveDate) -> Result<()> {
    sqlx::query!("select make_partitions($1)", today).execute(connection).await?;
    Ok(())
}

/// The tables whose past is not kept for ever.
#[derive(Clone, Copy, Debug)]
pub enum Log {
    Outbox,
    EventBodies,
    Deliveries,
}

/// What is older than that, as far as whole partitions are. What stands in none of its own goes row by row.
pub async fn forget(connection: &mut Connection, log: Log, before: DateTime<Utc>) -> Result<()> {
    let (name, rest) = match log {
        Log::Outbox => ("outbox", "delete from outbox_default where created_at < $1"),
        Log::EventBodies => ("event_bodies", "delete from event_bodies_default where created_at < $1"),
        Log::Deliveries => ("deliveries", "delete from deliveries_default where created_at < $1"),
    };
    sqlx::query!("select drop_partitions($1, $2)", name, before).execute(&mut *connection).await?;
    sqlx::query(rest).bind(before).execute(connection).await?;
    Ok(())
}

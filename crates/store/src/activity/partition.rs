//! Partitions of the tables that grow with time.

use chrono::{DateTime, NaiveDate, Utc};

use crate::{Connection, Result};

/// Creates the partitions from that day on, at least four weeks ahead. Called at every migration and every day, so that
/// several weeks of failed calls do no harm.
pub async fn create_upcoming(connection: &mut Connection, today: NaiveDate) -> Result<()> {
    sqlx::query!("select make_partitions($1)", today).execute(connection).await?;
    Ok(())
}

/// A table of which old partitions are dropped.
#[derive(Clone, Copy, Debug)]
pub enum PartitionedTable {
    Outbox,
    EventBodies,
    Deliveries,
}

/// Drops the partitions that only contain rows from before that time, and deletes such rows of the default partition.
/// Partitions that are in use are kept until the next call.
pub async fn drop_older_than(
    connection: &mut Connection,
    table: PartitionedTable,
    before: DateTime<Utc>,
) -> Result<()> {
    let (name, delete_default) = match table {
        PartitionedTable::Outbox => ("outbox", "delete from outbox_default where created_at < $1"),
        PartitionedTable::EventBodies => ("event_bodies", "delete from event_bodies_default where created_at < $1"),
        PartitionedTable::Deliveries => ("deliveries", "delete from deliveries_default where created_at < $1"),
    };
    sqlx::query!("select drop_partitions($1, $2)", name, before).execute(&mut *connection).await?;
    sqlx::query(delete_default).bind(before).execute(connection).await?;
    Ok(())
}

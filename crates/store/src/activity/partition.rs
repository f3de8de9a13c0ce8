//! The tables that grow with time, a part for each stretch of it.

use chrono::NaiveDate;

use crate::{Connection, Result};

/// What is needed from that day on for some while. Called at every migration and every day, it leaves room for weeks in
/// which nothing calls it.
pub async fn make(connection: &mut Connection, today: NaiveDate) -> Result<()> {
    sqlx::query!("select make_partitions($1)", today).execute(connection).await?;
    Ok(())
}

//! Estimated and spent time of issues and merge requests.

use chrono::{DateTime, Utc};

use super::note::NoteTarget;
use crate::{Connection, Result};

/// The estimated and the spent time of an issue or a merge request, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct TimeStats {
    pub time_estimate: i64,
    pub time_spent: i64,
}

/// Returns the times of a target, or None if it does not exist.
pub async fn find(connection: &mut Connection, target: NoteTarget) -> Result<Option<TimeStats>> {
    let query = match target {
        NoteTarget::Issue(_) => "select time_estimate, time_spent from issues where id = $1",
        NoteTarget::MergeRequest(_) => "select time_estimate, time_spent from merge_requests where id = $1",
    };
    Ok(sqlx::query_as(query).bind(target.subject().1).fetch_optional(connection).await?)
}

/// Sets the times of a target. The caller holds its lock.
pub async fn update(
    connection: &mut Connection,
    target: NoteTarget,
    stats: TimeStats,
    now: DateTime<Utc>,
) -> Result<()> {
    let query = match target {
        NoteTarget::Issue(_) => "update issues set time_estimate = $2, time_spent = $3, updated_at = $4 where id = $1",
        NoteTarget::MergeRequest(_) => {
            "update merge_requests set time_estimate = $2, time_spent = $3, updated_at = $4 where id = $1"
        }
    };
    let query = sqlx::query(query).bind(target.subject().1).bind(stats.time_estimate).bind(stats.time_spent);
    query.bind(now).execute(connection).await?;
    Ok(())
}

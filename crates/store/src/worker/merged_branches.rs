//! The job that deletes merged branches.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, UserId};
use serde_json::json;

use super::job;
use crate::{Connection, Result};

pub const DELETE_MERGED_BRANCHES: &str = "delete_merged_branches";

/// Enqueues the job, which acts on behalf of the user who requested it.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    subject: &str,
    user: UserId,
    now: DateTime<Utc>,
) -> Result<()> {
    let details = json!({ "project": project, "user": user });
    job::enqueue(connection, DELETE_MERGED_BRANCHES, subject, &details, 0, now).await?;
    Ok(())
}

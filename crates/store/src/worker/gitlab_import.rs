//! The job that imports a GitLab export.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{JobId, ProjectId, UserId};
use serde_json::json;

use super::import::queue_name;
use super::job;
use crate::repository::import;
use crate::{Connection, Result};

pub const IMPORT_GITLAB: &str = "import_gitlab";

/// Enqueues an import in the transaction that records its archive, in the queue of the user's other imports.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    subject: &str,
    total: i64,
    now: DateTime<Utc>,
) -> Result<JobId> {
    let details = json!({ "project": project });
    let job = job::enqueue_in_queue(connection, Some(&queue_name(user)), IMPORT_GITLAB, subject, &details, total, now)
        .await?;
    import::upsert_archive(connection, project, job, now).await?;
    Ok(job)
}

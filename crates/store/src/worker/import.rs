//! The job that imports a repository.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::repository::ImportUrl;
use serde_json::json;

use super::job;
use crate::repository::import;
use crate::{Connection, Result};

pub const IMPORT: &str = "import";

/// Returns the name of the queue for the imports of one user. One of them runs at a time, so that one user cannot
/// occupy all import workers.
pub(super) fn queue_name(user: UserId) -> String {
    format!("{IMPORT}-{}", user.get())
}

/// Enqueues an import in the transaction that creates or updates the project. Without a user, the import is in no
/// queue, and concurrent imports are not limited.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: Option<UserId>,
    subject: &str,
    url: &ImportUrl,
    now: DateTime<Utc>,
) -> Result<()> {
    let (queue, details) = (user.map(queue_name), json!({ "project": project }));
    let job = job::enqueue_in_queue(connection, queue.as_deref(), IMPORT, subject, &details, 100, now).await?;
    import::upsert(connection, project, job, url, now).await
}

/// Returns how many imports of a user wait or run, or `at_most` if there are more. A canceled import counts until a
/// worker has skipped its job.
pub async fn count_pending(connection: &mut Connection, user: UserId, at_most: i64) -> Result<i64> {
    job::count_in_queue(connection, &queue_name(user), at_most).await
}

use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;
use holdfast_domain::repository::ImportUrl;
use serde_json::json;

use super::job;
use crate::repository::import;
use crate::{Connection, Result};

pub const IMPORT: &str = "import";

/// In the transaction that makes the project.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    subject: &str,
    url: &ImportUrl,
    now: DateTime<Utc>,
) -> Result<()> {
    let job = job::enqueue(connection, IMPORT, subject, &json!({ "project": project }), 100, now).await?;
    import::begin(connection, project, job, url, now).await
}

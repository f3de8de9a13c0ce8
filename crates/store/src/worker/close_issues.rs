//! The job that closes the issues named in pushed commits.

use holdfast_domain::ids::{ProjectId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::job;
use crate::{Connection, Result};

pub const CLOSE_ISSUES: &str = "close_issues";

/// A commit and the numbers of the issues that its message closes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IssueClosure {
    pub commit: String,
    pub iids: Vec<i64>,
}

/// Enqueues the job, which acts on behalf of the user who pushed.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    issue_closures: &[IssueClosure],
) -> Result<()> {
    let details = json!({ "project": project, "user": user, "closings": issue_closures });
    job::enqueue_serial(connection, CLOSE_ISSUES, project, &details).await
}

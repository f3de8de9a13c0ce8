use holdfast_domain::ids::{ProjectId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::job;
use crate::{Connection, Result};

pub const CLOSE_ISSUES: &str = "close_issues";

/// A commit and the numbers of the issues that it says it closes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Closing {
    pub commit: String,
    pub iids: Vec<i64>,
}

/// In the name of who pushed.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    closings: &[Closing],
) -> Result<()> {
    let details = json!({ "project": project, "user": user, "closings": closings });
    job::enqueue_in_turn(connection, CLOSE_ISSUES, project, &details).await
}

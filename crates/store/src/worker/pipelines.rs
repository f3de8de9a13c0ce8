use holdfast_domain::ids::{ProjectId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::job;
use crate::{Connection, Result};

pub const CREATE_PIPELINES: &str = "create_pipelines";

/// A branch or a tag that was moved, and where it leads now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pushed {
    pub ref_name: String,
    pub tag: bool,
    pub sha: String,
}

/// In the order of the pushes.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed: &[Pushed],
) -> Result<()> {
    let details = json!({ "project": project, "user": user, "generation": generation, "pushed": pushed });
    job::enqueue_in_turn(connection, CREATE_PIPELINES, project, &details).await
}

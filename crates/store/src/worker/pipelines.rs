//! The job that creates pipelines for a push.

use holdfast_domain::ids::{ProjectId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::job;
use crate::{Connection, Result};

pub const CREATE_PIPELINES: &str = "create_pipelines";

/// A branch or tag that was updated, with its new commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PushedRef {
    pub ref_name: String,
    pub tag: bool,
    pub sha: String,
}

/// Returns whether a job that may create the pipeline of a commit waits or runs.
pub async fn has_pending(connection: &mut Connection, project: ProjectId, sha: &str) -> Result<bool> {
    let details = json!({ "pushed": [{ "sha": sha }] });
    job::is_in_queue(connection, &format!("{CREATE_PIPELINES}-{project}"), &details).await
}

/// Enqueues the job. The jobs of a project run in the order of its pushes.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed_refs: &[PushedRef],
) -> Result<()> {
    let details = json!({ "project": project, "user": user, "generation": generation, "pushed": pushed_refs });
    job::enqueue_serial(connection, CREATE_PIPELINES, project, &details).await
}

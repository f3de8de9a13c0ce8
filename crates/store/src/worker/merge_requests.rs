//! The jobs that update the merge requests of pushed branches, and that merge requests after their pipelines.

use holdfast_domain::ids::{ProjectId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::job;
use crate::merge_requests::merge_request::MergeRequest;
use crate::{Connection, Result};

pub const UPDATE_MERGE_REQUESTS: &str = "update_merge_requests";
pub const ACCEPT_WAITING_MERGE_REQUESTS: &str = "accept_waiting_merge_requests";

/// An update of a branch. Ids are in hexadecimal digits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BranchUpdate {
    pub branch: String,
    /// None if the branch was created.
    pub old: Option<String>,
    /// None if the branch was deleted.
    pub new: Option<String>,
    /// Whether the branch was not updated: merge requests from it are only compared with it.
    #[serde(default)]
    pub is_refresh: bool,
}

/// Enqueues the job, which acts on behalf of the user who pushed. The jobs of a project run in the order of its pushes.
pub async fn enqueue(
    connection: &mut Connection,
    project: ProjectId,
    user: UserId,
    updates: &[BranchUpdate],
) -> Result<()> {
    let details = json!({ "project": project, "user": user, "updates": updates });
    job::enqueue_serial(connection, UPDATE_MERGE_REQUESTS, project, &details).await
}

/// Enqueues the job that merges the requests which wait for the pipeline of a commit.
pub async fn enqueue_waiting_merges(connection: &mut Connection, project: ProjectId, sha: &str) -> Result<()> {
    let details = json!({ "project": project, "sha": sha });
    job::enqueue_serial(connection, ACCEPT_WAITING_MERGE_REQUESTS, project, &details).await
}

/// Enqueues the merge of a request that waits for a pipeline, because something that was in the way is gone: the pipeline may
/// have succeeded in the meantime. Does nothing for a request that does not wait.
pub async fn enqueue_if_waiting(connection: &mut Connection, request: &MergeRequest) -> Result<()> {
    if !request.waits_for_build {
        return Ok(());
    }
    let source = request.source_project().unwrap_or(request.project_id);
    enqueue_waiting_merges(connection, source, &request.head).await
}

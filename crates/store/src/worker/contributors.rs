//! The job that counts the contributions to a project's default branch.

use holdfast_domain::ids::ProjectId;

use super::job;
use crate::{Connection, Result};

pub const COUNT_CONTRIBUTORS: &str = "count_contributors";

pub async fn enqueue(connection: &mut Connection, project: ProjectId) -> Result<()> {
    job::enqueue_deduplicated(connection, COUNT_CONTRIBUTORS, project).await
}

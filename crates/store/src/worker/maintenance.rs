//! The job that maintains the repository of a project.

use holdfast_domain::ids::ProjectId;

use super::job;
use crate::{Connection, Result};

pub const MAINTAIN: &str = "maintain";

pub async fn enqueue(connection: &mut Connection, project: ProjectId) -> Result<()> {
    job::enqueue_deduplicated(connection, MAINTAIN, project).await
}

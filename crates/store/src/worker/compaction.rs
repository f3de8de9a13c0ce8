use holdfast_domain::ids::ProjectId;

use super::job;
use crate::{Connection, Result};

pub const COMPACT: &str = "compact";

pub async fn enqueue(connection: &mut Connection, project: ProjectId) -> Result<()> {
    job::enqueue_once(connection, COMPACT, project).await
}

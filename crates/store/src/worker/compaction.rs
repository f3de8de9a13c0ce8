use holdfast_domain::ids::ProjectId;

use crate::{Connection, Result};

pub const COMPACT: &str = "compact";

/// One that waits already is enough.
pub async fn enqueue(connection: &mut Connection, project: ProjectId) -> Result<()> {
    sqlx::query(
        "select graphile_worker.add_job($1, json_build_object('project', $2::bigint), \
         job_key := 'compact-' || $2, max_attempts := 3)",
    )
    .bind(COMPACT)
    .bind(project.get())
    .execute(connection)
    .await?;
    Ok(())
}

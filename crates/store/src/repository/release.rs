use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;

use crate::{Connection, Result};

/// The notes of a tag that has none yet.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    description: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into releases (project_id, tag_name, description, created_at, updated_at) values ($1, $2, $3, $4, $4)
         on conflict (project_id, tag_name) do update set description = excluded.description, updated_at = $4",
        project.get(),
        tag,
        description,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, project: ProjectId, tags: &[&str]) -> Result<()> {
    sqlx::query!(
        "delete from releases where project_id = $1 and tag_name = any($2)",
        project.get(),
        tags as &[&str],
    )
    .execute(connection)
    .await?;
    Ok(())
}

//! Release notes of tags.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;

use crate::{Connection, Result};

/// Returns the release notes of these tags, each cut to `max_characters`. Tags without a release are left out.
pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    tags: &[&str],
    max_characters: i32,
) -> Result<HashMap<String, String>> {
    let rows = sqlx::query!(
        r#"select tag_name, left(description, $3) as "description!" from releases
           where project_id = $1 and tag_name = any($2)"#,
        project.get(),
        tags as &[&str],
        max_characters,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.tag_name, row.description)).collect())
}

/// Inserts a release. Returns false if the tag already has one.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    description: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into releases (project_id, tag_name, description, created_at, updated_at) values ($1, $2, $3, $4, $4)
         on conflict (project_id, tag_name) do nothing",
        project.get(),
        tag,
        description,
        now,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Updates the release notes of a tag. Returns false if the tag has no release.
pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    description: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update releases set description = $3, updated_at = $4 where project_id = $1 and tag_name = $2",
        project.get(),
        tag,
        description,
        now,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub async fn delete(connection: &mut Connection, project: ProjectId, tags: &[&str]) -> Result<()> {
    sqlx::query!("delete from releases where project_id = $1 and tag_name = any($2)", project.get(), tags as &[&str],)
        .execute(connection)
        .await?;
    Ok(())
}

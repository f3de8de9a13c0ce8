//! Rules of protected branches.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;
use holdfast_domain::repository::Rule;

use crate::{Connection, Error, Result};

pub async fn list(connection: &mut Connection, project: ProjectId) -> Result<Vec<Rule>> {
    let rows = sqlx::query!(
        "select name, push_level, merge_level from protected_branches where project_id = $1 order by name",
        project.get(),
    )
    .fetch_all(connection)
    .await?;
    let level = |level: i16| level.try_into().map_err(|_| Error::invalid_value("an access level"));
    rows.into_iter()
        .map(|row| Ok(Rule { name: row.name, push: level(row.push_level)?, merge: level(row.merge_level)? }))
        .collect()
}

pub async fn upsert(connection: &mut Connection, project: ProjectId, rule: &Rule, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "insert into protected_branches (project_id, name, push_level, merge_level, created_at)
         values ($1, $2, $3, $4, $5)
         on conflict (project_id, name) do update set push_level = excluded.push_level,
           merge_level = excluded.merge_level",
        project.get(),
        rule.name,
        rule.push.as_i16(),
        rule.merge.as_i16(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the rule with exactly this name.
pub async fn delete(connection: &mut Connection, project: ProjectId, name: &str) -> Result<()> {
    sqlx::query!("delete from protected_branches where project_id = $1 and name = $2", project.get(), name)
        .execute(connection)
        .await?;
    Ok(())
}

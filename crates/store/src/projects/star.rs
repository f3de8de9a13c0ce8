//! Stars of users, and the counts of them in projects.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, UserId};

use crate::{Connection, Result};

/// Inserts a star and increments the project's count. Returns false if the user has starred the project already.
pub async fn insert(connection: &mut Connection, user: UserId, project: ProjectId, now: DateTime<Utc>) -> Result<bool> {
    let counted = sqlx::query!(
        "with starred as (
           insert into stars (user_id, project_id, created_at) values ($1, $2, $3) on conflict do nothing returning 1
         )
         update projects set star_count = star_count + 1 where id = $2 and exists (select from starred)",
        user.get(),
        project.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(counted.rows_affected() > 0)
}

/// Returns whether the user has starred the project.
pub async fn exists(connection: &mut Connection, user: UserId, project: ProjectId) -> Result<bool> {
    let exists = sqlx::query_scalar("select exists (select from stars where user_id = $1 and project_id = $2)");
    Ok(exists.bind(user.get()).bind(project.get()).fetch_one(connection).await?)
}

/// Deletes a star and decrements the project's count. Returns false if there is none.
pub async fn delete(connection: &mut Connection, user: UserId, project: ProjectId) -> Result<bool> {
    let counted = sqlx::query!(
        "with unstarred as (delete from stars where user_id = $1 and project_id = $2 returning 1)
         update projects set star_count = star_count - 1 where id = $2 and exists (select from unstarred)",
        user.get(),
        project.get(),
    )
    .execute(connection)
    .await?;
    Ok(counted.rows_affected() > 0)
}

/// Deletes all stars of a user who is about to be deleted, and decrements the counts of the projects.
pub async fn delete_for_user(connection: &mut Connection, user: UserId) -> Result<()> {
    sqlx::query!(
        "with unstarred as (delete from stars where user_id = $1 returning project_id),
           locked as (select id from projects where id in (select project_id from unstarred) order by id for no key update)
         update projects p set star_count = star_count - 1 from locked where p.id = locked.id",
        user.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, UserId};

use crate::{Connection, Result};

/// Whether it is new; the count goes with it.
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

/// Whether there was one.
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

/// Takes a user's stars from the counts before the user goes.
pub async fn forget(connection: &mut Connection, user: UserId) -> Result<()> {
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

use holdfast_domain::Visibility;
use holdfast_domain::ids::ProjectId;

use crate::{Connection, Result};

/// Makes one project the fork of another, and counts it there.
pub async fn link(connection: &mut Connection, fork: ProjectId, source: ProjectId) -> Result<()> {
    sqlx::query!(
        "with counted as (update projects set forks_count = forks_count + 1 where id = $2)
         update projects set forked_from_id = $2 where id = $1",
        fork.get(),
        source.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A fork that goes counts no more.
pub async fn unlink(connection: &mut Connection, fork: ProjectId) -> Result<()> {
    sqlx::query!(
        "with gone as (
           update projects set forked_from_id = null where id = $1 and forked_from_id is not null returning id
         )
         update projects set forks_count = forks_count - 1
         where id = (select f.forked_from_id from projects f where f.id = $1) and exists (select from gone)",
        fork.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Nothing that came from a project is more visible than it is.
pub async fn lower(connection: &mut Connection, source: ProjectId, at_most: Visibility) -> Result<()> {
    sqlx::query!(
        "with recursive forks (id) as (
           select id from projects where forked_from_id = $1
           union
           select p.id from projects p join forks f on p.forked_from_id = f.id
         )
         update projects set visibility_level = $2 where id in (select id from forks) and visibility_level > $2",
        source.get(),
        at_most.level(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

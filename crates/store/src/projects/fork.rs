//! Links between forks and their sources, and the limits of visibility that follow from them.

use holdfast_domain::Visibility;
use holdfast_domain::ids::ProjectId;

use crate::{Connection, Result};

/// Makes one project the fork of another, and increments the other's count of forks. Also lowers the visibility of the
/// fork to that of its source, which may have been lowered since the caller read it.
pub async fn link(connection: &mut Connection, fork: ProjectId, source: ProjectId) -> Result<()> {
    sqlx::query!(
        "with counted as (update projects set forks_count = forks_count + 1 where id = $2 returning visibility_level)
         update projects p set forked_from_id = $2, visibility_level = least(p.visibility_level, c.visibility_level)
         from counted c where p.id = $1",
        fork.get(),
        source.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the link of a fork to its source, and decrements the source's count of forks.
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

/// Locks the creation of links between existing projects until the end of the transaction. Links that are made at once
/// could form a cycle together. They are rare, so that one lock for all of them is enough.
pub async fn lock_links(connection: &mut Connection) -> Result<()> {
    // An arbitrary number that no other advisory lock uses.
    const LOCK: i64 = 7_219_003;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(connection).await?;
    Ok(())
}

/// Returns whether a project is a direct or an indirect fork of another one.
pub async fn is_descendant(connection: &mut Connection, project: ProjectId, ancestor: ProjectId) -> Result<bool> {
    // Duplicates are dropped by `union`, so that the query ends even in a cycle.
    const QUERY: &str = "\
        with recursive ancestors (id) as ( \
          select forked_from_id from projects where id = $1 \
          union \
          select p.forked_from_id from ancestors a join projects p on p.id = a.id \
        ) \
        select exists (select from ancestors where id = $2)";
    Ok(sqlx::query_scalar(QUERY).bind(project.get()).bind(ancestor.get()).fetch_one(connection).await?)
}

/// Returns the highest visibility that a fork can have: that of its source, or the last one of its deleted source.
/// Returns None if there is no limit.
pub async fn visibility_limit(connection: &mut Connection, fork: ProjectId) -> Result<Option<Visibility>> {
    let limit = sqlx::query_scalar!(
        "select least(p.max_visibility_level, s.visibility_level)
         from projects p left join projects s on s.id = p.forked_from_id where p.id = $1",
        fork.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(limit.flatten().and_then(|level| level.try_into().ok()))
}

/// Stores the visibility of a project that is about to be deleted as the limit of its forks.
pub async fn save_visibility_limit(connection: &mut Connection, source: ProjectId) -> Result<()> {
    sqlx::query!(
        "update projects f set max_visibility_level = least(f.max_visibility_level, s.visibility_level)
         from projects s where s.id = $1 and f.forked_from_id = s.id",
        source.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the visibility of the source as the limit of a fork that is about to be unlinked from it.
pub async fn save_own_visibility_limit(connection: &mut Connection, fork: ProjectId) -> Result<()> {
    let update = sqlx::query(
        "update projects f set max_visibility_level = least(f.max_visibility_level, s.visibility_level) \
         from projects s where f.id = $1 and s.id = f.forked_from_id",
    );
    update.bind(fork.get()).execute(connection).await?;
    Ok(())
}

/// Lowers the visibility of all direct and indirect forks of a project to at most this visibility.
pub async fn cap_visibility(connection: &mut Connection, source: ProjectId, max_visibility: Visibility) -> Result<()> {
    sqlx::query!(
        "with recursive forks (id) as (
           select id from projects where forked_from_id = $1
           union
           select p.id from projects p join forks f on p.forked_from_id = f.id
         )
         update projects set visibility_level = $2 where id in (select id from forks) and visibility_level > $2",
        source.get(),
        max_visibility.as_i16(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

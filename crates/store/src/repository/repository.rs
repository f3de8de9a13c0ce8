use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, RepositoryId};

use crate::{Connection, Result};

/// What a change of a repository must know, while nobody else changes it.
#[derive(Clone, Debug)]
pub struct Locked {
    pub generation: i64,
    pub prune_epoch: i64,
    pub head: Option<String>,
}

/// Empty, in a network of its own.
pub async fn insert(connection: &mut Connection, project: ProjectId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "insert into repositories (id, project_id, network_id, created_at)
         select id, $1, id, $2 from nextval(pg_get_serial_sequence('repositories', 'id')) id",
        project.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// With the refs and the packs of another, in its network. The other one is held as it is meanwhile, so that no pack
/// leaves its list: one that two repositories list is never removed because of one of them. False if it is gone.
pub async fn insert_fork(
    connection: &mut Connection,
    project: ProjectId,
    source: RepositoryId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let held =
        sqlx::query!("select id from repositories where id = $1 and project_id is not null for share", source.get(),);
    if held.fetch_optional(&mut *connection).await?.is_none() {
        return Ok(false);
    }
    sqlx::query!(
        "with fork as (
           insert into repositories (project_id, network_id, head, generation, created_at)
           select $1, network_id, head, 1, $3 from repositories where id = $2 returning id
         ), listed as (
           insert into repository_packs (repository_id, pack_id)
           select fork.id, pack_id from fork, repository_packs where repository_id = $2
         )
         insert into refs (repository_id, name, target, peeled)
         select fork.id, name, target, peeled from fork, refs where repository_id = $2",
        project.get(),
        source.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(true)
}

/// Nobody else moves its refs or changes its packs until the end of the transaction.
pub async fn lock(connection: &mut Connection, id: RepositoryId) -> Result<Option<Locked>> {
    Ok(sqlx::query_as!(
        Locked,
        "select generation, prune_epoch, head from repositories where id = $1 and project_id is not null
         for no key update",
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Whether its project still takes anything in.
pub async fn takes_content(connection: &mut Connection, id: RepositoryId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from repositories r join projects p on p.id = r.project_id
             where r.id = $1 and p.namespace_id is not null and not p.archived) as "exists!""#,
        id.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// False if there is no such branch. The repository is locked first: a branch that is found then stays.
pub async fn set_head(connection: &mut Connection, id: RepositoryId, head: &str) -> Result<bool> {
    lock(connection, id).await?;
    let done = sqlx::query!(
        "update repositories set head = $2, generation = generation + 1
         where id = $1 and exists (select from refs where repository_id = $1 and name = $2)",
        id.get(),
        head,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Some whose project is removed.
pub async fn some_orphaned(connection: &mut Connection, at_most: i64) -> Result<Vec<RepositoryId>> {
    let ids = sqlx::query_scalar!("select id from repositories where project_id is null order by id limit $1", at_most)
        .fetch_all(connection)
        .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// Waits for who still copies from it: what that one lists is then known.
pub async fn lock_orphaned(connection: &mut Connection, id: RepositoryId) -> Result<()> {
    sqlx::query!("select id from repositories where id = $1 and project_id is null for update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Some of its rows; how many there were.
pub async fn delete_some_rows(connection: &mut Connection, id: RepositoryId, at_most: i64) -> Result<u64> {
    let refs = sqlx::query!(
        "delete from refs where repository_id = $1 and name in
           (select name from refs where repository_id = $1 order by name limit $2)",
        id.get(),
        at_most,
    )
    .execute(&mut *connection)
    .await?;
    let log = sqlx::query!(
        "delete from ref_log where repository_id = $1 and (generation, name) in
           (select generation, name from ref_log where repository_id = $1 order by generation, name limit $2)",
        id.get(),
        at_most,
    )
    .execute(&mut *connection)
    .await?;
    let contributors = sqlx::query!(
        "delete from contributors where repository_id = $1 and email in
           (select email from contributors where repository_id = $1 order by email limit $2)",
        id.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(refs.rows_affected() + log.rows_affected() + contributors.rows_affected())
}

/// Once it has none of these rows any more.
pub async fn delete(connection: &mut Connection, id: RepositoryId) -> Result<()> {
    sqlx::query!("delete from contributions where repository_id = $1", id.get()).execute(&mut *connection).await?;
    sqlx::query!("delete from repositories where id = $1 and project_id is null", id.get()).execute(connection).await?;
    Ok(())
}

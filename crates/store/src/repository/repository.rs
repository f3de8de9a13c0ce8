use chrono::{DateTime, Utc};
use holdfast_domain::ids::{PackId, ProjectId, RepositoryId};

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

/// With the refs and the packs of another, in its network, but for packs to which no ref leads. The other one is held as it is meanwhile, so that no pack
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
           select fork.id, l.pack_id from fork, repository_packs l join packs p on p.id = l.pack_id
           where l.repository_id = $2 and p.cruft_since is null
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

/// The same for many at once, in the order of their ids, also for those whose project is gone.
pub async fn lock_all(connection: &mut Connection, ids: &[RepositoryId]) -> Result<()> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    sqlx::query!("select id from repositories where id = any($1) order by id for no key update", &ids)
        .fetch_all(connection)
        .await?;
    Ok(())
}

/// When objects began to be set apart or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruning {
    pub epoch: i64,
    pub generation: i64,
}

/// From now on what is pushed must be checked against refs of now or later: objects are about to be set apart or removed.
/// None if it is gone.
pub async fn begin_pruning(connection: &mut Connection, id: RepositoryId) -> Result<Option<Pruning>> {
    Ok(sqlx::query_as!(
        Pruning,
        "update repositories set prune_epoch = prune_epoch + 1 where id = $1 and project_id is not null
         returning prune_epoch as epoch, generation",
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// A pack of all that refs led to at some generation, and of nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub pack: PackId,
    pub generation: i64,
}

/// Which may be off the list by now.
pub async fn base(connection: &mut Connection, id: RepositoryId) -> Result<Option<Base>> {
    let row = sqlx::query!("select base_pack_id, base_generation from repositories where id = $1", id.get());
    let row = row.fetch_optional(connection).await?;
    Ok(row.and_then(|row| Some(Base { pack: row.base_pack_id?.into(), generation: row.base_generation? })))
}

/// All of it was packed anew, and this is the generation that came of it.
pub async fn set_repacked(
    connection: &mut Connection,
    id: RepositoryId,
    generation: i64,
    base: Option<Base>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update repositories set repacked_at = $2, repacked_generation = $3, base_pack_id = $4, base_generation = $5
         where id = $1",
        id.get(),
        now,
        generation,
        base.map(|base| base.pack.get()),
        base.map(|base| base.generation),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// When all of it was packed anew, and to which generation that led.
pub async fn repacked(connection: &mut Connection, id: RepositoryId) -> Result<Option<(DateTime<Utc>, i64)>> {
    let row = sqlx::query!("select repacked_at, repacked_generation from repositories where id = $1", id.get());
    let row = row.fetch_optional(connection).await?;
    Ok(row.and_then(|row| Some((row.repacked_at?, row.repacked_generation?))))
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

/// Where a repository stands among others.
#[derive(Clone, Debug)]
pub struct Place {
    pub created_at: DateTime<Utc>,
    /// When a ref moved last.
    pub moved_at: Option<DateTime<Utc>>,
    /// It, its forks and theirs.
    pub network: i64,
    /// Paths of some of them, the oldest first.
    pub members: Vec<String>,
}

pub async fn place(connection: &mut Connection, id: RepositoryId, at_most: i64) -> Result<Place> {
    let row = sqlx::query!(
        r#"select r.created_at, l.created_at as "moved_at?", (select count(*) from repositories o
             where o.network_id = r.network_id and o.project_id is not null) as "network!"
           from repositories r left join lateral (select created_at from ref_log where repository_id = r.id
             order by generation desc limit 1) l on true
           where r.id = $1"#,
        id.get(),
    )
    .fetch_one(&mut *connection)
    .await?;
    let members = sqlx::query_scalar!(
        r#"select n.path || '/' || p.path as "path!" from repositories o join projects p on p.id = o.project_id
             join namespaces n on n.id = p.namespace_id
           where o.network_id = (select network_id from repositories where id = $1) order by o.id limit $2"#,
        id.get(),
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(Place { created_at: row.created_at, moved_at: row.moved_at, network: row.network, members })
}

//! Rows of repositories: creation, forks, row locks, prune epochs and deletion.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{PackId, ProjectId, RepositoryId};

use crate::{Connection, Result};

/// The state of a repository whose row is locked.
#[derive(Clone, Debug)]
pub struct LockedRepository {
    pub generation: i64,
    pub prune_epoch: i64,
    pub head: Option<String>,
}

/// Inserts an empty repository with a fork network of its own.
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

/// Inserts a fork: a repository in the network of `source`, with its refs and its packs except cruft packs. Locks the
/// source shared, so that no pack leaves its list before the fork lists it too. Returns false if the source or its
/// project has been deleted.
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

/// Locks a repository until the end of the transaction. Ref updates and changes of the pack list require this lock.
/// Returns None if the repository or its project has been deleted.
pub async fn lock(connection: &mut Connection, id: RepositoryId) -> Result<Option<LockedRepository>> {
    Ok(sqlx::query_as!(
        LockedRepository,
        "select generation, prune_epoch, head from repositories where id = $1 and project_id is not null
         for no key update",
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Like [`lock`], but locks several repositories in the order of their ids, including those whose project has been
/// deleted.
pub async fn lock_all(connection: &mut Connection, ids: &[RepositoryId]) -> Result<()> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    sqlx::query!("select id from repositories where id = any($1) order by id for no key update", &ids)
        .fetch_all(connection)
        .await?;
    Ok(())
}

/// The prune epoch and the generation at which a full repack or a prune began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruning {
    pub epoch: i64,
    pub generation: i64,
}

/// Increments the prune epoch before unreachable objects are moved to a cruft pack or pruned. A push whose objects were
/// checked in an earlier epoch is not committed, and has to be checked again. Returns None if the repository or its
/// project has been deleted.
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

/// A pack that contains exactly the objects that were reachable at one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BasePack {
    pub pack: PackId,
    pub generation: i64,
}

/// Returns the base pack of the last full repack, if it wrote one. The pack may not be listed anymore.
pub async fn find_base_pack(connection: &mut Connection, id: RepositoryId) -> Result<Option<BasePack>> {
    let row = sqlx::query!("select base_pack_id, base_generation from repositories where id = $1", id.get());
    let row = row.fetch_optional(connection).await?;
    Ok(row.and_then(|row| Some(BasePack { pack: row.base_pack_id?.into(), generation: row.base_generation? })))
}

/// Records a full repack, the generation that it created, and its base pack.
pub async fn set_repacked(
    connection: &mut Connection,
    id: RepositoryId,
    generation: i64,
    base: Option<BasePack>,
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

/// The last full repack of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullRepack {
    pub at: DateTime<Utc>,
    /// The generation that the repack created.
    pub generation: i64,
}

pub async fn find_last_full_repack(connection: &mut Connection, id: RepositoryId) -> Result<Option<FullRepack>> {
    let row = sqlx::query!("select repacked_at, repacked_generation from repositories where id = $1", id.get());
    let row = row.fetch_optional(connection).await?;
    Ok(row.and_then(|row| Some(FullRepack { at: row.repacked_at?, generation: row.repacked_generation? })))
}

/// Returns whether the project of a repository exists and is not archived.
pub async fn accepts_pushes(connection: &mut Connection, id: RepositoryId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from repositories r join projects p on p.id = r.project_id
             where r.id = $1 and p.namespace_id is not null and not p.archived) as "exists!""#,
        id.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Sets the default branch. Returns false if the branch does not exist. Locks the repository first, so that the branch
/// is not deleted concurrently.
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

/// Returns a batch of repositories whose project has been deleted.
pub async fn next_orphaned_batch(connection: &mut Connection, at_most: i64) -> Result<Vec<RepositoryId>> {
    let ids = sqlx::query_scalar!("select id from repositories where project_id is null order by id limit $1", at_most)
        .fetch_all(connection)
        .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// Locks a repository whose project has been deleted exclusively. This waits for forks in progress, so that the packs
/// they list are visible afterwards.
pub async fn lock_orphaned_exclusive(connection: &mut Connection, id: RepositoryId) -> Result<()> {
    sqlx::query!("select id from repositories where id = $1 and project_id is null for update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Deletes at most `at_most` rows each of refs, ref log and contributors of a repository, and returns how many were
/// deleted.
pub async fn delete_row_batch(connection: &mut Connection, id: RepositoryId, at_most: i64) -> Result<u64> {
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

/// Deletes a repository whose project has been deleted. The caller has deleted its other rows with
/// [`delete_row_batch`].
pub async fn delete(connection: &mut Connection, id: RepositoryId) -> Result<()> {
    sqlx::query!("delete from contributions where repository_id = $1", id.get()).execute(&mut *connection).await?;
    sqlx::query!("delete from repositories where id = $1 and project_id is null", id.get()).execute(connection).await?;
    Ok(())
}

/// A repository's activity and fork network.
#[derive(Clone, Debug)]
pub struct NetworkInfo {
    pub created_at: DateTime<Utc>,
    /// The time of the last ref update.
    pub last_update_at: Option<DateTime<Utc>>,
    /// The number of repositories in the fork network.
    pub network_size: i64,
    /// Paths of projects in the fork network, the oldest first, limited in number.
    pub members: Vec<String>,
}

pub async fn find_network_info(connection: &mut Connection, id: RepositoryId, at_most: i64) -> Result<NetworkInfo> {
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
    Ok(NetworkInfo { created_at: row.created_at, last_update_at: row.moved_at, network_size: row.network, members })
}

//! Packs that are shared in a fork network: a project, its forks and their forks.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{PackId, RepositoryId};

use crate::{Connection, Result};

/// Returns the packs of a repository that other repositories list as well, each with the oldest repository that lists
/// it.
pub async fn find_shared_packs(
    connection: &mut Connection,
    repository: RepositoryId,
) -> Result<HashMap<PackId, RepositoryId>> {
    let rows = sqlx::query!(
        r#"select l.pack_id, first.id as "first!" from repository_packs l
           cross join lateral (select o.repository_id as id from repository_packs o where o.pack_id = l.pack_id
             order by o.repository_id limit 1) first
           where l.repository_id = $1 and exists
             (select from repository_packs o where o.pack_id = l.pack_id and o.repository_id <> $1)"#,
        repository.get(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.pack_id.into(), row.first.into())).collect())
}

/// Returns the repositories that list any of these packs, sorted by id.
pub async fn find_repositories_listing(connection: &mut Connection, packs: &[PackId]) -> Result<Vec<RepositoryId>> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    let repositories = sqlx::query_scalar!(
        "select distinct repository_id from repository_packs where pack_id = any($1) order by repository_id",
        &ids,
    )
    .fetch_all(connection)
    .await?;
    Ok(repositories.into_iter().map(Into::into).collect())
}

/// Replaces packs by a new one in the lists of all repositories that list any of them, and marks the old packs as
/// unreferenced. `repositories` must be all of these repositories, locked.
pub async fn replace_packs(
    connection: &mut Connection,
    repositories: &[RepositoryId],
    old: &[PackId],
    new: PackId,
    now: DateTime<Utc>,
) -> Result<()> {
    let ids: Vec<i64> = old.iter().map(|id| id.get()).collect();
    let repositories: Vec<i64> = repositories.iter().map(|id| id.get()).collect();
    sqlx::query!("select id from packs where id = any($1) order by id for no key update", &ids)
        .fetch_all(&mut *connection)
        .await?;
    sqlx::query!("delete from repository_packs where pack_id = any($1)", &ids).execute(&mut *connection).await?;
    sqlx::query!(
        "insert into repository_packs (repository_id, pack_id) select r, $2 from unnest($1::bigint[]) r
         on conflict do nothing",
        &repositories,
        new.get(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "update packs set state = 'condemned', condemned_at = $2 where id = any($1) and state = 'live'",
        &ids,
        now,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("update repositories set generation = generation + 1 where id = any($1)", &repositories)
        .execute(connection)
        .await?;
    Ok(())
}

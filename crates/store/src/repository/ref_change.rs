//! The rows of a change of refs. Only `app`'s `ref_change` calls these, with the repository locked.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{RepositoryId, UserId};
use holdfast_git::{ObjectId, RefName, Target};

use super::snapshot::object_id;
use crate::{Connection, Result};

/// From `old` to `new`, where none is one that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub name: RefName,
    pub old: Option<ObjectId>,
    pub new: Option<Target>,
}

/// Where those of these names that exist point to.
pub async fn current(
    connection: &mut Connection,
    repository: RepositoryId,
    names: &[&str],
) -> Result<HashMap<String, ObjectId>> {
    let rows = sqlx::query!(
        "select name, target from refs where repository_id = $1 and name = any($2)",
        repository.get(),
        names as &[&str],
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((row.name, object_id(&row.target)?))).collect()
}

/// Returns how many refs a repository has. Reads all of them.
pub async fn count(connection: &mut Connection, repository: RepositoryId) -> Result<usize> {
    let query = sqlx::query_scalar!("select count(*) from refs where repository_id = $1", repository.get());
    let count = query.fetch_one(connection).await?.unwrap_or_default();
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Refs that stand in the way of new ones, apart from those that go: those that would be their directory, and of those of
/// which they would be, one for each.
pub async fn in_the_way(
    connection: &mut Connection,
    repository: RepositoryId,
    new: &[&str],
    directories: &[&str],
    going: &[&str],
) -> Result<BTreeSet<String>> {
    let rows = sqlx::query_scalar!(
        r#"select name as "name!" from refs where repository_id = $1 and name = any($3) and not name = any($4)
           union all
           select f.name from unnest($2::text[]) n (name) cross join lateral (
             select name from refs where repository_id = $1 and name > n.name || '/' and name < n.name || '0'
               and not name = any($4) limit 1
           ) f"#,
        repository.get(),
        new as &[&str],
        directories as &[&str],
        going as &[&str],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Who moves refs, and through which door.
#[derive(Clone, Copy, Debug)]
pub struct Mover {
    pub user: Option<UserId>,
    pub via: &'static str,
}

/// `generation` is the repository's new one; `head` is set if one is given.
pub async fn apply(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
    head: Option<&str>,
    moves: &[Move],
    mover: Mover,
    now: DateTime<Utc>,
) -> Result<()> {
    let names: Vec<&str> = moves.iter().map(|it| it.name.as_str()).collect();
    let bytes = |id: ObjectId| id.as_bytes().to_vec();
    let old: Vec<Option<Vec<u8>>> = moves.iter().map(|it| it.old.map(bytes)).collect();
    let new: Vec<Option<Vec<u8>>> = moves.iter().map(|it| it.new.map(|new| bytes(new.id))).collect();
    let peeled: Vec<Option<Vec<u8>>> = moves.iter().map(|it| it.new.and_then(|new| new.peeled).map(bytes)).collect();
    sqlx::query!(
        "with moved as (
           select * from unnest($2::text[], $3::bytea[], $4::bytea[], $5::bytea[]) m (name, old, new, peeled)
         ), removed as (
           delete from refs f using moved m where f.repository_id = $1 and f.name = m.name and m.new is null
         ), placed as (
           insert into refs (repository_id, name, target, peeled)
           select $1, name, new, peeled from moved where new is not null
           on conflict (repository_id, name) do update set target = excluded.target, peeled = excluded.peeled
         ), logged as (
           insert into ref_log (repository_id, generation, name, old, new, peeled, actor_id, via, created_at)
           select $1, $6, name, old, new, peeled, $7, $8, $9 from moved
         )
         update repositories set generation = $6, head = coalesce($10, head) where id = $1",
        repository.get(),
        &names as &[&str],
        &old as &[Option<Vec<u8>>],
        &new as &[Option<Vec<u8>>],
        &peeled as &[Option<Vec<u8>>],
        generation,
        mover.user.map(UserId::get),
        mover.via,
        now,
        head,
    )
    .execute(connection)
    .await?;
    Ok(())
}

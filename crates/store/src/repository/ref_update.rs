//! Statements of ref updates. Only `repository::refs::ref_update::apply` of `app` calls [`write`], with the repository
//! locked and the updates checked.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{RepositoryId, UserId};
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_git::{ObjectId, RefName, RefTarget};

use super::snapshot::object_id;
use crate::{Connection, Result};

/// An update of one ref from `old` to `new`. None means that the ref does not exist before, or after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    pub name: RefName,
    pub old: Option<ObjectId>,
    pub new: Option<RefTarget>,
}

/// Returns the targets of the refs with these names. Refs that do not exist are left out.
pub async fn find_current(
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

/// Returns existing refs that conflict with new ones, because one name is a path prefix of the other: every ref in
/// `parent_names`, and for each new name one ref below it. The refs in `deleted` are ignored.
pub async fn find_name_conflicts(
    connection: &mut Connection,
    repository: RepositoryId,
    new: &[&str],
    parent_names: &[&str],
    deleted: &[&str],
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
        parent_names as &[&str],
        deleted as &[&str],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}

/// The user who updates refs, and the entry point of the request.
#[derive(Clone, Copy, Debug)]
pub struct RefUpdateOrigin {
    pub user: Option<UserId>,
    pub channel: RefUpdateChannel,
}

/// Writes ref updates to the refs and to the ref log, and sets the repository's new `generation`. Sets the default
/// branch if `head` is given.
pub async fn write(
    connection: &mut Connection,
    repository: RepositoryId,
    generation: i64,
    head: Option<&str>,
    updates: &[&RefUpdate],
    origin: RefUpdateOrigin,
    now: DateTime<Utc>,
) -> Result<()> {
    let names: Vec<&str> = updates.iter().map(|it| it.name.as_str()).collect();
    let bytes = |id: ObjectId| id.as_bytes().to_vec();
    let old: Vec<Option<Vec<u8>>> = updates.iter().map(|it| it.old.map(bytes)).collect();
    let new: Vec<Option<Vec<u8>>> = updates.iter().map(|it| it.new.map(|new| bytes(new.id))).collect();
    let peeled: Vec<Option<Vec<u8>>> = updates.iter().map(|it| it.new.and_then(|new| new.peeled).map(bytes)).collect();
    sqlx::query!(
        "with updates as (
           select * from unnest($2::text[], $3::bytea[], $4::bytea[], $5::bytea[]) u (name, old, new, peeled)
         ), removed as (
           delete from refs f using updates u where f.repository_id = $1 and f.name = u.name and u.new is null
         ), written as (
           insert into refs (repository_id, name, target, peeled)
           select $1, name, new, peeled from updates where new is not null
           on conflict (repository_id, name) do update set target = excluded.target, peeled = excluded.peeled
         ), logged as (
           insert into ref_log (repository_id, generation, name, old, new, peeled, actor_id, via, created_at)
           select $1, $6, name, old, new, peeled, $7, $8, $9 from updates
         )
         update repositories set generation = $6, head = coalesce($10, head) where id = $1",
        repository.get(),
        &names as &[&str],
        &old as &[Option<Vec<u8>>],
        &new as &[Option<Vec<u8>>],
        &peeled as &[Option<Vec<u8>>],
        generation,
        origin.user.map(UserId::get),
        origin.channel.as_str(),
        now,
        head,
    )
    .execute(connection)
    .await?;
    Ok(())
}

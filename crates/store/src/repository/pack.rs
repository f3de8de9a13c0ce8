//! Packs and the pack lists of repositories (ADR 0013).
//!
//! - A pack is written once and never changes. Repositories of one fork network can list the same pack.
//! - An intent row precedes the upload of a pack (ADR 0011), so that the sweep finds uploads that were cut off.
//! - A pack that no repository lists is unreferenced (state `condemned`). The sweep deletes it after its retention.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{PackId, ProjectId, RepositoryId};
use holdfast_git::pack_file::PackSizes;

use crate::{Connection, Result};

/// A pack in the list of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    pub id: PackId,
    /// The checksum that git computes over the contents of the pack.
    pub checksum: String,
    /// The key in the object store. None if the bytes are in the database.
    pub object_key: Option<String>,
    pub sizes: PackSizes,
    /// When the objects of the pack were found to be unreachable. None if the pack is not a cruft pack.
    pub cruft_since: Option<DateTime<Utc>>,
}

impl Pack {
    /// Returns whether the pack has a bitmap. Only a pack that contains all objects reachable from its commits can have
    /// one.
    pub fn has_bitmap(&self) -> bool {
        self.sizes.bitmap > 0
    }

    pub fn bytes(&self) -> u64 {
        self.sizes.total()
    }
}

/// A pack to be added to the list of a repository.
#[derive(Clone, Debug)]
pub struct NewPack {
    pub checksum: String,
    pub sizes: PackSizes,
    pub bytes: PackBytes,
    /// Whether this is a cruft pack.
    pub is_cruft: bool,
}

#[derive(Clone, Debug)]
pub enum PackBytes {
    /// In the object store, with the intent row of this id.
    Uploaded(PackId),
    /// In the object store, under a key without an intent row.
    Recovered(String),
    /// Small enough to be stored in the database.
    Inline(Vec<u8>),
}

/// Inserts the intent row of an upload, so that the key is known even if the upload is cut off.
pub async fn insert_upload_intent(connection: &mut Connection, object_key: &str, now: DateTime<Utc>) -> Result<PackId> {
    let id = sqlx::query_scalar!(
        "insert into packs (state, object_key, created_at) values ('intent', $1, $2) returning id",
        object_key,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// What the database knows of an object in the object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRecord {
    /// The upload was announced, and no repository has listed the pack yet.
    Intent(PackId),
    /// A repository lists the pack, or the pack is unreferenced: all lists dropped it, or its upload was abandoned.
    ListedOrUnreferenced,
}

/// Returns the records of these object keys. Keys without a row are left out.
pub async fn find_records(connection: &mut Connection, keys: &[&str]) -> Result<HashMap<String, ObjectRecord>> {
    let rows = sqlx::query!(
        r#"select object_key as "key!", id, state from packs where object_key = any($1)"#,
        keys as &[&str],
    )
    .fetch_all(connection)
    .await?;
    let record = |id: i64, state: &str| match state {
        "intent" => ObjectRecord::Intent(id.into()),
        _ => ObjectRecord::ListedOrUnreferenced,
    };
    Ok(rows.into_iter().map(|row| (row.key, record(row.id, &row.state))).collect())
}

/// Adds a pack to the list of a repository. Returns None if the sweep has marked the upload as unreferenced meanwhile,
/// or if a recovered object already has a row.
pub async fn add(
    connection: &mut Connection,
    repository: RepositoryId,
    new: &NewPack,
    now: DateTime<Utc>,
) -> Result<Option<PackId>> {
    let sizes = new.sizes;
    let cruft_since = new.is_cruft.then_some(now);
    let id = match &new.bytes {
        PackBytes::Uploaded(id) => {
            sqlx::query_scalar!(
                "with pack as (
                   update packs set state = 'live', checksum = $3, pack_bytes = $4, idx_bytes = $5, rev_bytes = $6,
                     bitmap_bytes = $7, graph_bytes = $8, cruft_since = $9
                   where id = $2 and state = 'intent' returning id
                 )
                 insert into repository_packs (repository_id, pack_id) select $1, id from pack returning pack_id",
                repository.get(),
                id.get(),
                new.checksum,
                sizes.pack as i64,
                sizes.index as i64,
                sizes.reverse_index as i64,
                sizes.bitmap as i64,
                sizes.commit_graph as i64,
                cruft_since,
            )
            .fetch_optional(connection)
            .await?
        }
        PackBytes::Recovered(object_key) => {
            sqlx::query_scalar!(
                "with pack as (
                   insert into packs (state, object_key, checksum, pack_bytes, idx_bytes, rev_bytes, bitmap_bytes,
                     graph_bytes, created_at, cruft_since)
                   values ('live', $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (object_key) do nothing returning id
                 )
                 insert into repository_packs (repository_id, pack_id) select $1, id from pack returning pack_id",
                repository.get(),
                object_key,
                new.checksum,
                sizes.pack as i64,
                sizes.index as i64,
                sizes.reverse_index as i64,
                sizes.bitmap as i64,
                sizes.commit_graph as i64,
                now,
                cruft_since,
            )
            .fetch_optional(connection)
            .await?
        }
        PackBytes::Inline(content) => {
            sqlx::query_scalar!(
                "with pack as (
                   insert into packs (state, checksum, pack_bytes, idx_bytes, rev_bytes, bitmap_bytes, graph_bytes,
                     created_at, cruft_since)
                   values ('live', $2, $3, $4, $5, $6, $7, $9, $10) returning id
                 ), content as (
                   insert into pack_contents (pack_id, content) select id, $8 from pack
                 )
                 insert into repository_packs (repository_id, pack_id) select $1, id from pack returning pack_id",
                repository.get(),
                new.checksum,
                sizes.pack as i64,
                sizes.index as i64,
                sizes.reverse_index as i64,
                sizes.bitmap as i64,
                sizes.commit_graph as i64,
                content,
                now,
                cruft_since,
            )
            .fetch_optional(connection)
            .await?
        }
    };
    Ok(id.map(Into::into))
}

/// Returns the generation and the packs of a repository, read in one statement so that they are consistent. Returns
/// None if the repository does not exist.
pub async fn list(connection: &mut Connection, repository: RepositoryId) -> Result<Option<(i64, Vec<Pack>)>> {
    let rows = sqlx::query!(
        r#"select r.generation, p.id as "id?", p.checksum, p.object_key, p.pack_bytes as "pack_bytes?", p.idx_bytes as "idx_bytes?",
             p.rev_bytes as "rev_bytes?", p.bitmap_bytes as "bitmap_bytes?", p.graph_bytes as "graph_bytes?", p.cruft_since
           from repositories r left join repository_packs l on l.repository_id = r.id left join packs p on p.id = l.pack_id
           where r.id = $1 order by p.id"#,
        repository.get(),
    )
    .fetch_all(connection)
    .await?;
    let Some(generation) = rows.first().map(|row| row.generation) else { return Ok(None) };
    let packs = rows.into_iter().filter_map(|row| {
        let sizes = PackSizes {
            pack: row.pack_bytes? as u64,
            index: row.idx_bytes? as u64,
            reverse_index: row.rev_bytes? as u64,
            bitmap: row.bitmap_bytes? as u64,
            commit_graph: row.graph_bytes? as u64,
        };
        let (id, checksum) = (row.id?.into(), row.checksum?);
        Some(Pack { id, checksum, object_key: row.object_key, sizes, cruft_since: row.cruft_since })
    });
    Ok(Some((generation, packs.collect())))
}

/// Returns the bytes of a pack that is stored in the database.
pub async fn find_content(connection: &mut Connection, id: PackId) -> Result<Option<Vec<u8>>> {
    Ok(sqlx::query_scalar!("select content from pack_contents where pack_id = $1", id.get())
        .fetch_optional(connection)
        .await?)
}

/// Counts of the packs that maintenance can merge. Cruft packs are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackCounts {
    /// Packs that no other repository lists.
    pub own: i64,
    /// Packs that other repositories list as well, none of which is older than this one.
    pub shared: i64,
}

pub async fn count(connection: &mut Connection, repository: RepositoryId) -> Result<PackCounts> {
    Ok(sqlx::query_as!(
        PackCounts,
        r#"select count(*) filter (where not exists (select from repository_packs o where o.pack_id = l.pack_id
               and o.repository_id <> $1)) as "own!",
             count(*) filter (where exists (select from repository_packs o where o.pack_id = l.pack_id
               and o.repository_id > $1) and not exists (select from repository_packs o where o.pack_id = l.pack_id
               and o.repository_id < $1)) as "shared!"
           from repository_packs l join packs p on p.id = l.pack_id
           where l.repository_id = $1 and p.cruft_since is null"#,
        repository.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Returns how many of these packs the repository lists.
pub async fn count_listed(connection: &mut Connection, repository: RepositoryId, packs: &[PackId]) -> Result<i64> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from repository_packs where repository_id = $1 and pack_id = any($2)"#,
        repository.get(),
        &ids,
    )
    .fetch_one(connection)
    .await?)
}

/// Turns the cruft packs of a repository into ordinary packs, because a ref update makes unreachable objects reachable
/// again. Increments the prune epoch, so that a full repack or prune that is running fails instead of committing. The
/// caller has locked the repository.
pub async fn clear_cruft_marks(connection: &mut Connection, repository: RepositoryId) -> Result<()> {
    sqlx::query!("update repositories set prune_epoch = prune_epoch + 1 where id = $1", repository.get())
        .execute(&mut *connection)
        .await?;
    sqlx::query!(
        "update packs set cruft_since = null where cruft_since is not null and id in
           (select pack_id from repository_packs where repository_id = $1)",
        repository.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns a batch of projects with cruft packs from before the time `before`, sorted by id, with ids greater than
/// `after`.
pub async fn next_old_cruft_batch(
    connection: &mut Connection,
    before: DateTime<Utc>,
    after: ProjectId,
    at_most: i64,
) -> Result<Vec<ProjectId>> {
    let ids = sqlx::query_scalar!(
        r#"select distinct r.project_id as "project_id!" from packs p join repository_packs l on l.pack_id = p.id
           join repositories r on r.id = l.repository_id
           where p.cruft_since < $1 and p.state = 'live' and r.project_id > $2 order by 1 limit $3"#,
        before,
        after.get(),
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// Removes packs from the list of a repository and marks those that no repository lists anymore as unreferenced.
/// Returns how many were on the list. The caller has locked the repository.
pub async fn unlist(
    connection: &mut Connection,
    repository: RepositoryId,
    packs: &[PackId],
    now: DateTime<Utc>,
) -> Result<u64> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    // Without the row locks, two transactions that unlist the same pack would each see the list entry of the other, and
    // the pack would never become unreferenced.
    sqlx::query!("select id from packs where id = any($1) order by id for no key update", &ids)
        .fetch_all(&mut *connection)
        .await?;
    let removed = sqlx::query!(
        "delete from repository_packs where repository_id = $1 and pack_id = any($2)",
        repository.get(),
        &ids,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "update packs p set state = 'condemned', condemned_at = $2 where id = any($1) and state = 'live'
           and not exists (select from repository_packs l where l.pack_id = p.id)",
        &ids,
        now,
    )
    .execute(connection)
    .await?;
    Ok(removed.rows_affected())
}

pub async fn increment_generation(connection: &mut Connection, repository: RepositoryId) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        "update repositories set generation = generation + 1 where id = $1 returning generation",
        repository.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Removes all packs from the list of a repository whose project has been deleted.
pub async fn unlist_all(connection: &mut Connection, repository: RepositoryId, now: DateTime<Utc>) -> Result<()> {
    let listed = sqlx::query_scalar!("select pack_id from repository_packs where repository_id = $1", repository.get())
        .fetch_all(&mut *connection)
        .await?;
    let listed: Vec<PackId> = listed.into_iter().map(Into::into).collect();
    unlist(connection, repository, &listed, now).await?;
    Ok(())
}

/// Marks uploads as unreferenced that were announced before the time `before` and never listed.
pub async fn mark_intents_unreferenced(
    connection: &mut Connection,
    before: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update packs set state = 'condemned', condemned_at = $2 where state = 'intent' and created_at < $1",
        before,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A pack that no repository lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreferencedPack {
    pub id: PackId,
    /// The key in the object store. None if the bytes are in the database.
    pub object_key: Option<String>,
}

/// Returns a batch of packs that became unreferenced before the time `before`, the oldest first.
pub async fn next_unreferenced_batch(
    connection: &mut Connection,
    before: DateTime<Utc>,
    at_most: i64,
) -> Result<Vec<UnreferencedPack>> {
    Ok(sqlx::query_as!(
        UnreferencedPack,
        "select id, object_key from packs where state = 'condemned' and condemned_at < $1 order by condemned_at limit $2",
        before,
        at_most,
    )
    .fetch_all(connection)
    .await?)
}

/// Deletes the rows of unreferenced packs. The caller has deleted their objects.
pub async fn delete(connection: &mut Connection, packs: &[PackId]) -> Result<()> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    sqlx::query!("delete from packs where id = any($1) and state = 'condemned'", &ids).execute(connection).await?;
    Ok(())
}

//! Packs: written once, listed by the repositories that need them, removed when none does.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{PackId, ProjectId, RepositoryId};
use holdfast_git::index_pack::PARTS;

use crate::{Connection, Result};

/// Where the bytes of a pack are, and how many each part has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    pub id: PackId,
    /// Git's own, over what is in the pack.
    pub checksum: String,
    /// None if they are in the database itself.
    pub object_key: Option<String>,
    pub sizes: Sizes,
    /// Since when no ref leads to what is in it; None if that is not known.
    pub cruft_since: Option<DateTime<Utc>>,
}

/// Of the parts of a pack, one behind the other; zero for one that there is not.
pub type Sizes = [u64; PARTS.len()];

impl Pack {
    /// Only one that lacks nothing that its commits lead to has one.
    pub fn has_bitmap(&self) -> bool {
        self.sizes[3] > 0
    }

    pub fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }
}

/// A pack that is about to count.
#[derive(Clone, Debug)]
pub struct NewPack {
    pub checksum: String,
    pub sizes: Sizes,
    pub bytes: Bytes,
    /// Whether no ref leads to what is in it.
    pub is_cruft: bool,
}

#[derive(Clone, Debug)]
pub enum Bytes {
    /// In the object store, under the intent of this id.
    Stored(PackId),
    /// In the object store, under a key that nobody announced.
    Found(String),
    /// Small enough to come along.
    Inline(Vec<u8>),
}

/// Announces an upload: whatever comes of it, somebody knows the key.
pub async fn intend(connection: &mut Connection, object_key: &str, now: DateTime<Utc>) -> Result<PackId> {
    let id = sqlx::query_scalar!(
        "insert into packs (state, object_key, created_at) values ('intent', $1, $2) returning id",
        object_key,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// What is known of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// An upload was announced and never came to count.
    Intent(PackId),
    /// It counted, whether or not it still does.
    Counted,
}

/// Of these keys, those that are known at all.
pub async fn known(connection: &mut Connection, keys: &[&str]) -> Result<HashMap<String, Known>> {
    let rows = sqlx::query!(
        r#"select object_key as "key!", id, state from packs where object_key = any($1)"#,
        keys as &[&str],
    )
    .fetch_all(connection)
    .await?;
    let known = |id: i64, state: &str| if state == "intent" { Known::Intent(id.into()) } else { Known::Counted };
    Ok(rows.into_iter().map(|row| (row.key, known(row.id, &row.state))).collect())
}

/// None if the sweeper has given up its upload meanwhile, or somebody else has found it.
pub async fn add(
    connection: &mut Connection,
    repository: RepositoryId,
    new: &NewPack,
    now: DateTime<Utc>,
) -> Result<Option<PackId>> {
    let [pack, idx, rev, bitmap, graph] = new.sizes.map(|size| size as i64);
    let cruft_since = new.is_cruft.then_some(now);
    let id = match &new.bytes {
        Bytes::Stored(id) => {
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
                pack,
                idx,
                rev,
                bitmap,
                graph,
                cruft_since,
            )
            .fetch_optional(connection)
            .await?
        }
        Bytes::Found(object_key) => {
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
                pack,
                idx,
                rev,
                bitmap,
                graph,
                now,
                cruft_since,
            )
            .fetch_optional(connection)
            .await?
        }
        Bytes::Inline(content) => {
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
                pack,
                idx,
                rev,
                bitmap,
                graph,
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

/// The packs of a repository and the generation of the list, in one statement so that they belong together. None if
/// there is no such repository.
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
        let sizes = [row.pack_bytes?, row.idx_bytes?, row.rev_bytes?, row.bitmap_bytes?, row.graph_bytes?];
        let sizes = sizes.map(|size| size as u64);
        let (id, checksum) = (row.id?.into(), row.checksum?);
        Some(Pack { id, checksum, object_key: row.object_key, sizes, cruft_since: row.cruft_since })
    });
    Ok(Some((generation, packs.collect())))
}

/// The bytes of one that is in the database.
pub async fn content(connection: &mut Connection, id: PackId) -> Result<Option<Vec<u8>>> {
    Ok(sqlx::query_scalar!("select content from pack_contents where pack_id = $1", id.get())
        .fetch_optional(connection)
        .await?)
}

/// How many packs a repository can have fewer of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Which it alone lists.
    pub own: i64,
    /// Which others list, too, but none that was there before it.
    pub shared: i64,
}

pub async fn load(connection: &mut Connection, repository: RepositoryId) -> Result<Load> {
    Ok(sqlx::query_as!(
        Load,
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

/// How many of these it lists.
pub async fn count_of(connection: &mut Connection, repository: RepositoryId, packs: &[PackId]) -> Result<i64> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from repository_packs where repository_id = $1 and pack_id = any($2)"#,
        repository.get(),
        &ids,
    )
    .fetch_one(connection)
    .await?)
}

/// Something that no ref led to is wanted again, in a repository that is locked: who is about to set it apart, or to remove
/// it, finds that too much has happened.
pub async fn revive(connection: &mut Connection, repository: RepositoryId) -> Result<()> {
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

/// Some projects with packs to which no ref led before that time already, beyond the project of that id.
pub async fn some_with_old_cruft(
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

/// Takes packs off the list of a repository that is locked, and condemns those that nobody lists any more; how many
/// were on the list.
pub async fn remove(
    connection: &mut Connection,
    repository: RepositoryId,
    packs: &[PackId],
    now: DateTime<Utc>,
) -> Result<u64> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    // Two that let go of the same pack at once would each see the other still holding it.
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

pub async fn bump(connection: &mut Connection, repository: RepositoryId) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        "update repositories set generation = generation + 1 where id = $1 returning generation",
        repository.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Takes all packs off the list of a repository whose project is removed.
pub async fn remove_all(connection: &mut Connection, repository: RepositoryId, now: DateTime<Utc>) -> Result<()> {
    let listed = sqlx::query_scalar!("select pack_id from repository_packs where repository_id = $1", repository.get())
        .fetch_all(&mut *connection)
        .await?;
    let listed: Vec<PackId> = listed.into_iter().map(Into::into).collect();
    remove(connection, repository, &listed, now).await?;
    Ok(())
}

/// Uploads that were announced before that time and never came to count: they never will.
pub async fn condemn_intents(connection: &mut Connection, before: DateTime<Utc>, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "update packs set state = 'condemned', condemned_at = $2 where state = 'intent' and created_at < $1",
        before,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Some that were condemned before that time.
pub async fn some_condemned(
    connection: &mut Connection,
    before: DateTime<Utc>,
    at_most: i64,
) -> Result<Vec<(PackId, Option<String>)>> {
    let rows = sqlx::query!(
        "select id, object_key from packs where state = 'condemned' and condemned_at < $1 order by condemned_at limit $2",
        before,
        at_most,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.object_key)).collect())
}

/// Once their bytes are gone.
pub async fn forget(connection: &mut Connection, packs: &[PackId]) -> Result<()> {
    let ids: Vec<i64> = packs.iter().map(|id| id.get()).collect();
    sqlx::query!("delete from packs where id = any($1) and state = 'condemned'", &ids).execute(connection).await?;
    Ok(())
}

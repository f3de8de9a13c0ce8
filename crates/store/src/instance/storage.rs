//! How much is stored, estimated from samples.
//!
//! The sizes of objects are in rows of large tables. A sample of the blocks of a table is read instead of the table, so
//! that the cost does not grow with the instance. A small table is read as a whole; its figures are exact.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::ProjectId;

use crate::{Connection, Result};

/// Maximum number of blocks of 8 KiB of each table that a sample reads. Arbitrary.
const MAX_SAMPLED_BLOCKS: i64 = 1000;
/// Maximum number of unreferenced packs that are counted. Arbitrary.
pub const MAX_COUNTED_UNREFERENCED: i64 = 10_000;

/// The tables whose rows describe stored objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredKind {
    Packs,
    Uploads,
    Traces,
    Artifacts,
}

impl StoredKind {
    pub const ALL: [Self; 4] = [Self::Packs, Self::Uploads, Self::Traces, Self::Artifacts];
}

/// The shares of the tables that samples read, in percent, and the size of the database.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct SampleSizes {
    pub packs: f32,
    pub uploads: f32,
    pub traces: f32,
    pub artifacts: f32,
    pub database_bytes: i64,
}

impl SampleSizes {
    pub const fn percent(&self, kind: StoredKind) -> f32 {
        match kind {
            StoredKind::Packs => self.packs,
            StoredKind::Uploads => self.uploads,
            StoredKind::Traces => self.traces,
            StoredKind::Artifacts => self.artifacts,
        }
    }
}

/// Determines how much of each table a sample reads.
pub async fn sample_sizes(connection: &mut Connection) -> Result<SampleSizes> {
    const QUERY: &str = "\
        select least(100, 819200.0 * $1::bigint / greatest(1, pg_relation_size('packs')))::real as packs, \
          least(100, 819200.0 * $1::bigint / greatest(1, pg_relation_size('uploads')))::real as uploads, \
          least(100, 819200.0 * $1::bigint / greatest(1, pg_relation_size('traces')))::real as traces, \
          least(100, 819200.0 * $1::bigint / greatest(1, pg_relation_size('artifacts')))::real as artifacts, \
          pg_database_size(current_database()) as database_bytes";
    Ok(sqlx::query_as(QUERY).bind(MAX_SAMPLED_BLOCKS).fetch_one(connection).await?)
}

/// The objects that a sample found.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct SampledObjects {
    pub objects: i64,
    pub bytes: i64,
}

/// Reads a sample of each table, in the order of [`StoredKind::ALL`].
pub async fn read_samples(connection: &mut Connection, sizes: &SampleSizes) -> Result<Vec<SampledObjects>> {
    const QUERY: &str = "\
        select objects, bytes from ( \
          select 1 as place, count(*) as objects, coalesce(sum(pack_bytes + idx_bytes + rev_bytes + bitmap_bytes \
            + graph_bytes), 0)::bigint as bytes from packs tablesample system ($1) where state = 'live' \
          union all select 2, count(*), coalesce(sum(bytes), 0)::bigint from uploads tablesample system ($2) \
            where stored_at is not null \
          union all select 3, count(*), coalesce(sum(bytes), 0)::bigint from traces tablesample system ($3) \
          union all select 4, count(*), coalesce(sum(bytes), 0)::bigint from artifacts tablesample system ($4)) s \
        order by place";
    let query = sqlx::query_as(QUERY).bind(sizes.packs).bind(sizes.uploads).bind(sizes.traces).bind(sizes.artifacts);
    Ok(query.fetch_all(connection).await?)
}

/// A large pack with one of the projects that list it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct LargePack {
    pub bytes: i64,
    pub created_at: DateTime<Utc>,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The path of the project with its namespace.
    pub full_path: String,
}

/// Returns the largest packs among those of a sample, the largest first.
pub async fn list_large_packs(connection: &mut Connection, percent: f32, at_most: i64) -> Result<Vec<LargePack>> {
    const QUERY: &str = "\
        select l.bytes, l.created_at, o.project_id, o.full_path from ( \
          select id, created_at, pack_bytes + idx_bytes + rev_bytes + bitmap_bytes + graph_bytes as bytes \
          from packs tablesample system ($1) where state = 'live' order by bytes desc, id limit $2) l \
        cross join lateral (select p.id as project_id, n.path || '/' || p.path as full_path from repository_packs r \
          join repositories s on s.id = r.repository_id join projects p on p.id = s.project_id \
          join namespaces n on n.id = p.namespace_id where r.pack_id = l.id order by r.repository_id limit 1) o \
        order by l.bytes desc, l.id";
    Ok(sqlx::query_as(QUERY).bind(percent).bind(at_most).fetch_all(connection).await?)
}

/// The packs that no repository lists. They are deleted after the retention period.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct UnreferencedPacks {
    /// The number of unreferenced packs, counted up to [`MAX_COUNTED_UNREFERENCED`].
    pub packs: i64,
    pub bytes: i64,
    /// When the first of them became unreferenced.
    pub oldest: Option<DateTime<Utc>>,
}

pub async fn count_unreferenced(connection: &mut Connection) -> Result<UnreferencedPacks> {
    const QUERY: &str = "\
        select count(*) as packs, coalesce(sum(bytes), 0)::bigint as bytes, min(condemned_at) as oldest from ( \
          select condemned_at, pack_bytes + idx_bytes + rev_bytes + bitmap_bytes + graph_bytes as bytes \
          from packs where state = 'condemned' order by condemned_at limit $1) p";
    Ok(sqlx::query_as(QUERY).bind(MAX_COUNTED_UNREFERENCED).fetch_one(connection).await?)
}

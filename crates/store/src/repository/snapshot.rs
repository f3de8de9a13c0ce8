//! Ref snapshots: the refs of a repository at one generation, cached in memory.
//!
//! An outdated snapshot is advanced with the ref log, so the cost depends on the number of updates, not of refs.

use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::{ObjectId, RefName, RefTarget};
use imbl::OrdMap;
use moka::Entry;
use moka::ops::compute::{CompResult, Op};

use crate::{Connection, Database, Error, Result};

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub repository: RepositoryId,
    pub generation: i64,
    head: Option<String>,
    refs: OrdMap<RefName, RefTarget>,
    branches: OnceLock<PageAnchors>,
    tags: OnceLock<PageAnchors>,
}

/// Every [`ANCHOR_INTERVAL`]th name of a list, so that the last page costs as much as the first.
#[derive(Clone, Debug)]
struct PageAnchors {
    total: usize,
    names: Vec<RefName>,
}

const ANCHOR_INTERVAL: usize = 500;

/// A kind of refs that is listed in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind {
    Branches,
    Tags,
}

impl RefKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Branches => "refs/heads/",
            Self::Tags => "refs/tags/",
        }
    }
}

/// The default branch of a repository to which no branch was pushed yet.
const UNBORN_BRANCH: &str = "refs/heads/master";

impl RefLookup for Snapshot {
    fn head(&self) -> &str {
        self.head.as_deref().unwrap_or(UNBORN_BRANCH)
    }

    fn iter_with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, RefTarget)> {
        self.refs
            .range::<_, str>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(name, _)| name.as_str().starts_with(prefix))
            .map(|(name, target)| (name.as_str(), *target))
    }

    fn find(&self, name: &str) -> Option<RefTarget> {
        self.refs.get(name).copied()
    }
}

impl Snapshot {
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    pub fn len(&self) -> usize {
        self.refs.len()
    }

    fn new(repository: RepositoryId, generation: i64, head: Option<String>, refs: OrdMap<RefName, RefTarget>) -> Self {
        Self { repository, generation, head, refs, branches: OnceLock::new(), tags: OnceLock::new() }
    }

    fn page_anchors(&self, kind: RefKind) -> &PageAnchors {
        let anchors = match kind {
            RefKind::Branches => &self.branches,
            RefKind::Tags => &self.tags,
        };
        anchors.get_or_init(|| {
            let mut anchors = PageAnchors { total: 0, names: Vec::new() };
            for (name, _) in self.iter_with_prefix(kind.prefix()) {
                if anchors.total.is_multiple_of(ANCHOR_INTERVAL) {
                    anchors.names.push(RefName::from_trusted(name));
                }
                anchors.total += 1;
            }
            anchors
        })
    }

    pub fn count(&self, kind: RefKind) -> usize {
        self.page_anchors(kind).total
    }

    /// Lists a range of the branches or tags, sorted by name. The names are short: without `refs/heads/` or
    /// `refs/tags/`.
    pub fn list(&self, kind: RefKind, range: Range<usize>) -> Vec<(&str, RefTarget)> {
        let Some(start) = self.page_anchors(kind).names.get(range.start / ANCHOR_INTERVAL) else { return Vec::new() };
        let from = self.refs.range::<_, str>((Bound::Included(start.as_str()), Bound::Unbounded));
        let page = from.skip(range.start % ANCHOR_INTERVAL).take(range.len());
        page.map_while(|(name, target)| Some((name.as_str().strip_prefix(kind.prefix())?, *target))).collect()
    }

    /// Returns the targets of all refs: annotated tags and their peeled objects both.
    pub fn tips(&self) -> impl Iterator<Item = ObjectId> {
        self.refs.values().flat_map(|target| [Some(target.id), target.peeled]).flatten()
    }

    /// Returns the tip of the default branch, if that branch exists.
    pub fn head_target(&self) -> Option<ObjectId> {
        Some(self.find(self.head.as_deref()?)?.id)
    }
}

/// A cache of ref snapshots, weighted by their size.
pub struct Snapshots(moka::future::Cache<RepositoryId, Arc<Snapshot>>);

/// Estimated memory of a ref with its name and its share of the tree.
const BYTES_PER_REF: usize = 150;
/// Arbitrary. The ref log is kept while its repository exists, so a snapshot of any age can be advanced.
const SNAPSHOT_TTL: Duration = Duration::from_secs(3600);

impl Snapshots {
    pub fn new(max_bytes: u64) -> Self {
        let weight = |_: &RepositoryId, snapshot: &Arc<Snapshot>| {
            u32::try_from((snapshot.len() + 4) * BYTES_PER_REF).unwrap_or(u32::MAX)
        };
        Self(moka::future::Cache::builder().weigher(weight).max_capacity(max_bytes).time_to_live(SNAPSHOT_TTL).build())
    }

    pub fn clear(&self) {
        self.0.invalidate_all();
    }

    /// Returns the refs at `generation` or later; `generation` and `head` are the repository's current ones. One of
    /// several concurrent requests for the same repository reads the refs, and the others wait without a database
    /// connection, so that a long list is in memory once.
    pub async fn get_or_load(
        &self,
        database: &Database,
        id: RepositoryId,
        generation: i64,
        head: Option<&str>,
    ) -> Result<Arc<Snapshot>> {
        if let Some(cached) = self.0.get(&id).await.filter(|cached| cached.generation >= generation) {
            return Ok(cached);
        }
        let read = async |cached: Option<Entry<RepositoryId, Arc<Snapshot>>>| {
            let cached = cached.map(Entry::into_value);
            if cached.as_ref().is_some_and(|cached| cached.generation >= generation) {
                return Ok(Op::Nop);
            }
            let mut connection = database.connection().await?;
            let snapshot = match cached {
                Some(cached) => advance(&mut connection, &cached, generation, head).await?,
                None => load(&mut connection, id).await?,
            };
            Ok::<_, Error>(Op::Put(Arc::new(snapshot)))
        };
        match self.0.entry(id).and_try_compute_with(read).await? {
            CompResult::Inserted(entry) | CompResult::ReplacedWith(entry) | CompResult::Unchanged(entry) => {
                Ok(entry.into_value())
            }
            CompResult::Removed(_) | CompResult::StillNone(_) => unreachable!("the closure never removes the entry"),
        }
    }
}

async fn advance(
    connection: &mut Connection,
    base: &Snapshot,
    generation: i64,
    head: Option<&str>,
) -> Result<Snapshot> {
    let updates = sqlx::query!(
        "select distinct on (name) name, new, peeled from ref_log
         where repository_id = $1 and generation > $2 and generation <= $3 order by name, generation desc",
        base.repository.get(),
        base.generation,
        generation,
    )
    .fetch_all(connection)
    .await?;
    let mut refs = base.refs.clone();
    let mut has_same_names = true;
    for row in updates {
        let name = RefName::from_trusted(&row.name);
        let old_target = match row.new {
            Some(new) => refs.insert(name, target(&new, row.peeled.as_deref())?),
            None => refs.remove(&name),
        };
        has_same_names &= old_target.is_some() == refs.contains_key(row.name.as_str());
    }
    let mut snapshot = Snapshot::new(base.repository, generation, head.map(str::to_owned), refs);
    if has_same_names {
        (snapshot.branches, snapshot.tags) = (base.branches.clone(), base.tags.clone());
    }
    Ok(snapshot)
}

/// Loads refs and generation in one statement, so that they are consistent.
async fn load(connection: &mut Connection, id: RepositoryId) -> Result<Snapshot> {
    let rows = sqlx::query!(
        r#"select r.generation, r.head, f.name as "name?", f.target as "target?", f.peeled
           from repositories r left join refs f on f.repository_id = r.id where r.id = $1 order by f.name"#,
        id.get(),
    )
    .fetch_all(connection)
    .await?;
    let first = rows.first().ok_or(Error::row_not_found())?;
    let (generation, head) = (first.generation, first.head.clone());
    let mut refs = Vec::with_capacity(rows.len());
    for row in rows {
        if let (Some(name), Some(id)) = (row.name, row.target) {
            refs.push((RefName::from_trusted(&name), target(&id, row.peeled.as_deref())?));
        }
    }
    Ok(Snapshot::new(id, generation, head, refs.into_iter().collect()))
}

fn target(id: &[u8], peeled: Option<&[u8]>) -> Result<RefTarget> {
    Ok(RefTarget { id: object_id(id)?, peeled: peeled.map(object_id).transpose()? })
}

pub(crate) fn object_id(bytes: &[u8]) -> Result<ObjectId> {
    ObjectId::try_from(bytes).map_err(|_| Error::invalid_value("an object id"))
}

//! The refs of a repository at one generation, kept in memory. A copy that is behind is brought up to date by what has
//! moved since, however many refs there are.

use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holdfast_domain::ids::RepositoryId;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::{ObjectId, RefName, Target};
use imbl::OrdMap;
use moka::Entry;
use moka::ops::compute::{CompResult, Op};

use crate::{Connection, Error, Result};

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub repository: RepositoryId,
    pub generation: i64,
    head: Option<String>,
    refs: OrdMap<RefName, Target>,
    branches: OnceLock<Places>,
    tags: OnceLock<Places>,
}

/// Where the pages of a list begin: every so many names, so that a page far behind costs what the first one does.
#[derive(Clone, Debug)]
struct Places {
    total: usize,
    names: Vec<RefName>,
}

const APART: usize = 500;

/// What is listed in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Branches,
    Tags,
}

impl Listed {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Branches => "refs/heads/",
            Self::Tags => "refs/tags/",
        }
    }
}

/// Of a repository without branches, until the first one is pushed.
const UNBORN: &str = "refs/heads/master";

impl Refs for Snapshot {
    fn head(&self) -> &str {
        self.head.as_deref().unwrap_or(UNBORN)
    }

    fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, Target)> {
        self.refs
            .range::<_, str>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(name, _)| name.as_str().starts_with(prefix))
            .map(|(name, target)| (name.as_str(), *target))
    }

    fn find(&self, name: &str) -> Option<Target> {
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

    fn new(repository: RepositoryId, generation: i64, head: Option<String>, refs: OrdMap<RefName, Target>) -> Self {
        Self { repository, generation, head, refs, branches: OnceLock::new(), tags: OnceLock::new() }
    }

    fn places(&self, what: Listed) -> &Places {
        let places = match what {
            Listed::Branches => &self.branches,
            Listed::Tags => &self.tags,
        };
        places.get_or_init(|| {
            let mut places = Places { total: 0, names: Vec::new() };
            for (name, _) in self.with_prefix(what.prefix()) {
                if places.total.is_multiple_of(APART) {
                    places.names.push(RefName::trusted(name));
                }
                places.total += 1;
            }
            places
        })
    }

    pub fn count(&self, what: Listed) -> usize {
        self.places(what).total
    }

    /// Those from one place to another, by name; the names without what all of them begin with.
    pub fn listed(&self, what: Listed, range: Range<usize>) -> Vec<(&str, Target)> {
        let Some(start) = self.places(what).names.get(range.start / APART) else { return Vec::new() };
        let from = self.refs.range::<_, str>((Bound::Included(start.as_str()), Bound::Unbounded));
        let some = from.skip(range.start % APART).take(range.len());
        some.map_while(|(name, target)| Some((name.as_str().strip_prefix(what.prefix())?, *target))).collect()
    }

    /// What they point at, tags and what those lead to.
    pub fn tips(&self) -> impl Iterator<Item = ObjectId> {
        self.refs.values().flat_map(|target| [Some(target.id), target.peeled]).flatten()
    }

    /// The commit of the default branch.
    pub fn head_target(&self) -> Option<ObjectId> {
        Some(self.find(self.head.as_deref()?)?.id)
    }
}

/// Those that were used lately.
pub struct Snapshots(moka::future::Cache<RepositoryId, Arc<Snapshot>>);

/// A ref with its name and its place in the tree, roughly.
const BYTES_PER_REF: usize = 150;
/// The log is kept much longer, so what has moved since is always known.
const KEPT: Duration = Duration::from_secs(3600);

impl Snapshots {
    pub fn new(max_bytes: u64) -> Self {
        let weight = |_: &RepositoryId, snapshot: &Arc<Snapshot>| {
            u32::try_from((snapshot.len() + 4) * BYTES_PER_REF).unwrap_or(u32::MAX)
        };
        Self(moka::future::Cache::builder().weigher(weight).max_capacity(max_bytes).time_to_live(KEPT).build())
    }

    pub fn clear(&self) {
        self.0.invalidate_all();
    }

    /// Returns the refs at `generation` or later, where that is the repository's own at the moment. Of several requests for
    /// the same repository one reads the refs; the others wait for it, so that a long list is in memory once.
    pub async fn at(
        &self,
        connection: &mut Connection,
        id: RepositoryId,
        generation: i64,
        head: Option<&str>,
    ) -> Result<Arc<Snapshot>> {
        if let Some(cached) = self.0.get(&id).await.filter(|cached| cached.generation >= generation) {
            return Ok(cached);
        }
        let read = async |cached: Option<Entry<RepositoryId, Arc<Snapshot>>>| {
            let snapshot = match cached.map(Entry::into_value) {
                Some(cached) if cached.generation >= generation => return Ok(Op::Nop),
                Some(cached) => advance(connection, &cached, generation, head).await?,
                None => load(connection, id).await?,
            };
            Ok::<_, Error>(Op::Put(Arc::new(snapshot)))
        };
        match self.0.entry(id).and_try_compute_with(read).await? {
            CompResult::Inserted(entry) | CompResult::ReplacedWith(entry) | CompResult::Unchanged(entry) => {
                Ok(entry.into_value())
            }
            CompResult::Removed(_) | CompResult::StillNone(_) => unreachable!("the refs are put in or left there"),
        }
    }
}

async fn advance(
    connection: &mut Connection,
    from: &Snapshot,
    generation: i64,
    head: Option<&str>,
) -> Result<Snapshot> {
    let moved = sqlx::query!(
        "select distinct on (name) name, new, peeled from ref_log
         where repository_id = $1 and generation > $2 and generation <= $3 order by name, generation desc",
        from.repository.get(),
        from.generation,
        generation,
    )
    .fetch_all(connection)
    .await?;
    let mut refs = from.refs.clone();
    let mut has_same_names = true;
    for row in moved {
        let name = RefName::trusted(&row.name);
        let before = match row.new {
            Some(new) => refs.insert(name, target(&new, row.peeled.as_deref())?),
            None => refs.remove(&name),
        };
        has_same_names &= before.is_some() == refs.contains_key(row.name.as_str());
    }
    let mut snapshot = Snapshot::new(from.repository, generation, head.map(str::to_owned), refs);
    if has_same_names {
        (snapshot.branches, snapshot.tags) = (from.branches.clone(), from.tags.clone());
    }
    Ok(snapshot)
}

/// In one statement, so that refs and generation belong together.
async fn load(connection: &mut Connection, id: RepositoryId) -> Result<Snapshot> {
    let rows = sqlx::query!(
        r#"select r.generation, r.head, f.name as "name?", f.target as "target?", f.peeled
           from repositories r left join refs f on f.repository_id = r.id where r.id = $1 order by f.name"#,
        id.get(),
    )
    .fetch_all(connection)
    .await?;
    let first = rows.first().ok_or(Error::missing_row())?;
    let (generation, head) = (first.generation, first.head.clone());
    let mut refs = Vec::with_capacity(rows.len());
    for row in rows {
        if let (Some(name), Some(id)) = (row.name, row.target) {
            refs.push((RefName::trusted(&name), target(&id, row.peeled.as_deref())?));
        }
    }
    Ok(Snapshot::new(id, generation, head, refs.into_iter().collect()))
}

fn target(id: &[u8], peeled: Option<&[u8]>) -> Result<Target> {
    Ok(Target { id: object_id(id)?, peeled: peeled.map(object_id).transpose()? })
}

pub(super) fn object_id(bytes: &[u8]) -> Result<ObjectId> {
    ObjectId::try_from(bytes).map_err(|_| Error::unreadable("an object id"))
}

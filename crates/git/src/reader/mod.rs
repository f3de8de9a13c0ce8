//! Reads objects in this process, with gitoxide.
//!
//! All functions block on the disk, so callers must use a blocking thread. The memory of a reader is bounded by the
//! limits below.

mod ancestry;
mod changes;
mod commit;
mod connectivity;
mod history;
mod last_commits;
mod tree;

use std::collections::HashSet;

use gix::ObjectId;
use gix::hash::Prefix;
pub use gix::object::Kind;
use gix::odb::pack::cache::lru::StaticLinkedList;
use gix::odb::store::init::Slots;

pub use ancestry::HistoryChange;
pub use changes::ChangedPaths;
pub use commit::{Commit, Signature};
pub use history::NewCommits;
pub use last_commits::LastCommits;
pub use tree::{EntryKind, TreeEntry, TreeLookup};

use crate::{BareRepository, Error, RefTarget, Result};

/// A repository that is kept open, because opening it costs more than most reads.
pub struct CachedReader(gix::ThreadSafeRepository);

/// Reads the objects of one repository, on one thread.
pub struct Reader(pub(crate) gix::Repository);

/// Maximum number of packs of a repository that is kept open. Reads fail with more; repacks keep the number far lower.
const MAX_PACKS: Slots = Slots::Given(4000);
/// Maximum number of packs of a repository that is opened for one use: 256, or a tenth more than it has now. Each slot
/// costs time when the repository is opened and closed.
const MAX_PACKS_SINGLE_USE: Slots = Slots::AsNeededByDiskState { multiplier: 1.1, minimum: 256 };

/// Maximum size of an object that is inflated in this process. A small object may be a delta against a very large one.
const ALLOC_LIMIT_CONFIG: &str = "gitoxide.objects.allocLimit=64m";
/// Maximum size of the delta bases that a reader caches. The default of gitoxide is up to 96 MiB, and every request has
/// its own reader.
const MAX_CACHED_BASE_BYTES: usize = 8 << 20;
/// Maximum size of the objects that a reader caches.
const MAX_CACHED_OBJECT_BYTES: usize = 4 << 20;

const MAX_READ_BYTES: u64 = 1 << 20;
const MAX_TAG_DEPTH: usize = 20;

fn unreadable(id: ObjectId) -> impl FnOnce(gix::Error) -> Error {
    move |error| if error.is_not_found() { Error::Missing(id.to_string()) } else { Error::Object(id.to_string()) }
}

impl CachedReader {
    pub fn open(repository: &BareRepository) -> Result<Self> {
        Self::open_with(repository, MAX_PACKS)
    }

    fn open_with(repository: &BareRepository, max_packs: Slots) -> Result<Self> {
        let options = gix::open::Options::isolated().object_store_slots(max_packs).open_path_as_is(true);
        let options = options.config_overrides([ALLOC_LIMIT_CONFIG]);
        Ok(Self(options.open(repository.directory()).map_err(|error| Error::Object(error.to_string()))?))
    }

    pub fn reader(&self) -> Reader {
        let mut repository = self.0.to_thread_local();
        repository.objects.set_pack_cache(|| Box::new(StaticLinkedList::<64>::new(MAX_CACHED_BASE_BYTES)));
        repository.object_cache_size_if_unset(MAX_CACHED_OBJECT_BYTES);
        Reader(repository)
    }
}

impl Reader {
    /// Opens a repository for one use.
    pub fn open(repository: &BareRepository) -> Result<Self> {
        Ok(CachedReader::open_with(repository, MAX_PACKS_SINGLE_USE)?.reader())
    }

    /// Returns the kind of an object, or None if it does not exist.
    pub fn kind(&self, id: ObjectId) -> Result<Option<Kind>> {
        Ok(self.header(id)?.map(|(kind, _)| kind))
    }

    /// Returns the kind and the size of an object, or None if it does not exist.
    pub fn header(&self, id: ObjectId) -> Result<Option<(Kind, u64)>> {
        let header = self.0.try_find_header(id).map_err(unreadable(id))?;
        Ok(header.map(|header| (header.kind(), header.size())))
    }

    /// Returns the objects whose ids begin with these hexadecimal digits.
    pub fn find_by_prefix(&self, hex: &str) -> Result<HashSet<ObjectId>> {
        let mut found = HashSet::new();
        // Gitoxide accepts no prefix of fewer than four digits.
        if let Ok(prefix) = Prefix::from_hex(hex) {
            self.0.objects.lookup_prefix(prefix, Some(&mut found)).map_err(|_| Error::Object(hex.to_owned()))?;
        }
        Ok(found)
    }

    /// Returns the content of an object. The caller must have checked that it is small.
    pub fn content(&self, id: ObjectId) -> Result<Vec<u8>> {
        Ok(self.0.find_object(id).map_err(unreadable(id))?.detach().data)
    }

    /// Follows tags to the first object that is no tag. Does not read that object.
    pub fn peel(&self, id: ObjectId) -> Result<(RefTarget, Kind)> {
        let mut current = id;
        for _ in 0..MAX_TAG_DEPTH {
            let kind = self.checked_kind(current)?;
            if kind != Kind::Tag {
                return Ok((RefTarget { id, peeled: (current != id).then_some(current) }, kind));
            }
            let tag = self.0.find_tag(current).map_err(unreadable(current))?;
            current = tag.target_id().map_err(unreadable(current))?.detach();
        }
        Err(Error::protocol("too many nested tags"))
    }

    /// Fails if the object is no commit, without reading it.
    fn expect_commit(&self, id: ObjectId) -> Result<()> {
        if self.checked_kind(id)? == Kind::Commit { Ok(()) } else { Err(Error::Object(id.to_string())) }
    }

    /// Returns the kind of an object. Fails for a commit or a tag that is too large to be read as a whole.
    fn checked_kind(&self, id: ObjectId) -> Result<Kind> {
        let header = self.0.find_header(id).map_err(unreadable(id))?;
        if matches!(header.kind(), Kind::Tag | Kind::Commit) && header.size() > MAX_READ_BYTES {
            return Err(Error::protocol("a commit or a tag is larger than 1 MiB"));
        }
        Ok(header.kind())
    }
}

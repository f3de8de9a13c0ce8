//! Objects, read in this process.

mod changes;
mod commit;
mod history;
mod tree;

use std::collections::HashSet;

use gix::ObjectId;
use gix::hash::Prefix;
pub use gix::object::Kind;
use gix::odb::pack::cache::lru::StaticLinkedList;
use gix::odb::store::init::Slots;

pub use changes::ChangedPaths;
pub use commit::{Commit, Signature};
pub use history::NewCommits;
pub use tree::{Entry, EntryKind, Search};

use crate::{Bare, Error, Result, Target};

/// A repository kept open: opening it costs more than most reads.
pub struct Kept(gix::ThreadSafeRepository);

/// Of one repository, in one thread.
pub struct Reader(pub(crate) gix::Repository);

/// Number of packs that a repository which is kept open can have. With more of them reads fail; far fewer are kept.
const MAX_PACKS: Slots = Slots::Given(4000);
/// Number of packs that a repository which is opened for one use can have: 256, or a tenth more than there are. Each costs
/// time when the repository is opened and closed.
const MAX_PACKS_OF_ONE_USE: Slots = Slots::AsNeededByDiskState { multiplier: 1.1, minimum: 256 };

/// Of what is unpacked in this process. A small object may be a difference to a very large one.
const LARGEST_OBJECT: &str = "gitoxide.objects.allocLimit=64m";
/// Maximum size of the bases of deltas that a reader keeps. Gitoxide would keep up to 96 MiB, and every request has a reader
/// of its own.
const MAX_CACHED_BASE_BYTES: usize = 8 << 20;
/// Maximum size of the objects that a reader keeps.
const MAX_CACHED_OBJECT_BYTES: usize = 4 << 20;

const LARGEST_READ: u64 = 1 << 20;
const MOST_TAGS: usize = 20;

fn unreadable(id: ObjectId) -> impl FnOnce(gix::Error) -> Error {
    move |error| if error.is_not_found() { Error::Missing(id.to_string()) } else { Error::Object(id.to_string()) }
}

impl Kept {
    pub fn open(bare: &Bare) -> Result<Self> {
        Self::open_with(bare, MAX_PACKS)
    }

    fn open_with(bare: &Bare, max_packs: Slots) -> Result<Self> {
        let options = gix::open::Options::isolated().object_store_slots(max_packs).open_path_as_is(true);
        let options = options.config_overrides([LARGEST_OBJECT]);
        Ok(Self(options.open(bare.directory()).map_err(|error| Error::Object(error.to_string()))?))
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
    pub fn open(bare: &Bare) -> Result<Self> {
        Ok(Kept::open_with(bare, MAX_PACKS_OF_ONE_USE)?.reader())
    }

    /// None if there is no such object.
    pub fn kind(&self, id: ObjectId) -> Result<Option<Kind>> {
        Ok(self.header(id)?.map(|(kind, _)| kind))
    }

    /// Its kind and its size. None if there is no such object.
    pub fn header(&self, id: ObjectId) -> Result<Option<(Kind, u64)>> {
        let header = self.0.try_find_header(id).map_err(unreadable(id))?;
        Ok(header.map(|header| (header.kind(), header.size())))
    }

    /// Those whose ids begin with these digits.
    pub fn with_prefix(&self, hex: &str) -> Result<HashSet<ObjectId>> {
        let mut found = HashSet::new();
        // Fewer than four digits are no prefix to it, nor is what are no digits.
        if let Ok(prefix) = Prefix::from_hex(hex) {
            self.0.objects.lookup_prefix(prefix, Some(&mut found)).map_err(|_| Error::Object(hex.to_owned()))?;
        }
        Ok(found)
    }

    /// What is in it. For those whose size is known to be small.
    pub fn content(&self, id: ObjectId) -> Result<Vec<u8>> {
        Ok(self.0.find_object(id).map_err(unreadable(id))?.detach().data)
    }

    /// Follows tags to their end, without a look into what is there.
    pub fn peel(&self, id: ObjectId) -> Result<(Target, Kind)> {
        let mut at = id;
        for _ in 0..MOST_TAGS {
            let kind = self.small(at)?;
            if kind != Kind::Tag {
                return Ok((Target { id, peeled: (at != id).then_some(at) }, kind));
            }
            let tag = self.0.find_tag(at).map_err(unreadable(at))?;
            at = tag.target_id().map_err(unreadable(at))?.detach();
        }
        Err(Error::protocol("too many tags of tags"))
    }

    /// Fails for what is no commit before it is read.
    fn expect_commit(&self, id: ObjectId) -> Result<()> {
        if self.small(id)? == Kind::Commit { Ok(()) } else { Err(Error::Object(id.to_string())) }
    }

    /// Its kind. What is read whole must not be larger than anybody writes on purpose.
    fn small(&self, id: ObjectId) -> Result<Kind> {
        let header = self.0.find_header(id).map_err(unreadable(id))?;
        if matches!(header.kind(), Kind::Tag | Kind::Commit) && header.size() > LARGEST_READ {
            return Err(Error::protocol("a commit or a tag is larger than 1 MiB"));
        }
        Ok(header.kind())
    }
}

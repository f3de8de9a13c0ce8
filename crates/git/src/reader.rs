//! Objects, read in this process.

use std::collections::VecDeque;

use gix::ObjectId;
pub use gix::object::Kind;
use gix::odb::store::init::Slots;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::{Bare, Error, Result, Target};

/// Of one repository, in one thread.
pub struct Reader(pub(crate) gix::Repository);

/// Who did something, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// Of the time zone it was recorded in.
    pub offset_seconds: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: ObjectId,
    pub parents: Vec<ObjectId>,
    pub author: Signature,
    pub committer: Signature,
    /// As it was written; what is no UTF-8 is replaced.
    pub message: String,
}

/// What a push brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewCommits {
    /// The newest, oldest first.
    pub newest: Vec<Commit>,
    pub total: u64,
}

/// Packs beyond this number would be invisible; far fewer are kept.
const MOST_PACKS: u16 = 4000;

const LARGEST_READ: u64 = 1 << 20;
const MOST_TAGS: usize = 20;

fn damaged(id: ObjectId) -> impl FnOnce(gix::Error) -> Error {
    move |_| Error::Object(id.to_string())
}

impl Reader {
    pub fn open(bare: &Bare) -> Result<Self> {
        let options = gix::open::Options::isolated().object_store_slots(Slots::Given(MOST_PACKS)).open_path_as_is(true);
        let opened = options.open(bare.directory()).map_err(|error| Error::Object(error.to_string()))?;
        let mut repository = opened.to_thread_local();
        repository.object_cache_size_if_unset(4 << 20);
        Ok(Self(repository))
    }

    /// None if there is no such object.
    pub fn kind(&self, id: ObjectId) -> Result<Option<Kind>> {
        Ok(self.0.try_find_header(id).map_err(damaged(id))?.map(|header| header.kind()))
    }

    /// Follows tags to their end, without a look into what is there.
    pub fn peel(&self, id: ObjectId) -> Result<(Target, Kind)> {
        let mut at = id;
        for _ in 0..MOST_TAGS {
            let kind = self.small(at)?;
            if kind != Kind::Tag {
                return Ok((Target { id, peeled: (at != id).then_some(at) }, kind));
            }
            let tag = self.0.find_tag(at).map_err(damaged(at))?;
            at = tag.target_id().map_err(damaged(at))?.detach();
        }
        Err(Error::protocol("too many tags of tags"))
    }

    /// Its kind. What is read whole must not be larger than anybody writes on purpose.
    fn small(&self, id: ObjectId) -> Result<Kind> {
        let header = self.0.find_header(id).map_err(damaged(id))?;
        if matches!(header.kind(), Kind::Tag | Kind::Commit) && header.size() > LARGEST_READ {
            return Err(Error::protocol("a commit or a tag is larger than 1 MiB"));
        }
        Ok(header.kind())
    }

    pub fn commit(&self, id: ObjectId) -> Result<Commit> {
        self.small(id)?;
        let found = self.0.find_commit(id).map_err(damaged(id))?;
        let commit = found.decode().map_err(damaged(id))?;
        let signature = |raw: gix::Result<gix::actor::SignatureRef<'_>>| {
            let raw = raw.map_err(damaged(id))?;
            // A time that cannot be read is no reason to hide a commit that git accepts.
            let time = raw.time().unwrap_or_default();
            Ok::<_, Error>(Signature {
                name: String::from_utf8_lossy(raw.name.trim_ascii()).into_owned(),
                email: String::from_utf8_lossy(raw.email.trim_ascii()).into_owned(),
                seconds: time.seconds,
                offset_seconds: time.offset,
            })
        };
        Ok(Commit {
            id,
            parents: commit.parents().collect(),
            author: signature(commit.author())?,
            committer: signature(commit.committer())?,
            message: String::from_utf8_lossy(commit.message).into_owned(),
        })
    }

    /// Whether `old` is `new` or one of the commits before it.
    pub fn is_ancestor(&self, old: ObjectId, new: ObjectId) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        let base = self.0.merge_base(old, new);
        // No common history at all is told as an error as well.
        Ok(base.is_ok_and(|base| base.is_some_and(|base| base == old)))
    }

    /// The commits that `new` reaches and `hidden` do not; of the newest `keep` all is told.
    pub fn new_commits(&self, new: ObjectId, hidden: &[ObjectId], keep: usize) -> Result<NewCommits> {
        let by_time = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.0.rev_walk([new]).sorting(by_time).with_hidden(hidden.iter().copied());
        let mut found = NewCommits::default();
        let mut newest = VecDeque::new();
        for info in walk.all().map_err(damaged(new))? {
            let id = info.map_err(damaged(new))?.id;
            found.total += 1;
            if newest.len() < keep {
                newest.push_front(self.commit(id)?);
            }
        }
        found.newest = newest.into();
        Ok(found)
    }
}

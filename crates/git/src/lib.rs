//! What git is: object ids, ref names, the wire protocol, the one place that starts the program `git`, and a reader of
//! objects. Knows nothing of users, SQL or HTTP.

pub mod archive;
pub mod bare;
mod confinement;
pub mod connectivity;
pub mod contributions;
pub mod diff;
pub mod error;
pub mod fsck;
pub mod import;
pub mod index_pack;
mod lines;
pub mod ls_tree;
pub mod merge_base;
pub mod pack_scan;
pub mod pkt;
pub mod program;
pub mod protocol;
pub mod reachability;
pub mod reader;
pub mod ref_name;
pub mod repack;
mod rev_list;
pub mod tag;

pub use bare::{Bare, Incoming};
pub use error::{Error, Result, is_full};
pub use gix::ObjectId;

/// The kind of all object ids so far.
pub const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;
pub use program::Git;
pub use ref_name::RefName;

/// What a ref points at, and where that leads when it is an annotated tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub id: ObjectId,
    pub peeled: Option<ObjectId>,
}

impl Target {
    /// The object behind all tags.
    pub fn object(&self) -> ObjectId {
        self.peeled.unwrap_or(self.id)
    }
}

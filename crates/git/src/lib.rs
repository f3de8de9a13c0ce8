//! Git for this server: ref names, the wire protocol, reading objects, and running the program `git`. Does not know
//! users, SQL or HTTP.

pub mod archive;
mod archive_name;
pub mod bare_repository;
pub mod blame;
pub mod commits;
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
pub mod merge_tree;
pub mod new_commit;
pub mod pack_file;
pub mod pack_scan;
pub mod pkt;
pub mod process;
pub mod protocol;
pub mod range_diff;
pub mod reachability;
pub mod reader;
pub mod ref_name;
pub mod repack;
mod rev_list;
pub mod tag;
pub mod tree_edit;
pub mod tree_path;

pub use bare_repository::{BareRepository, Quarantine};
pub use error::{Error, Result, add_path, is_storage_full};
pub use gix::ObjectId;

/// The kind of all object ids: SHA-256 repositories are not supported.
pub const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;
pub use process::Git;
pub use ref_name::RefName;
pub use tree_path::TreePath;

/// The object that a ref points at and, if that is an annotated tag, the object that the tag points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefTarget {
    pub id: ObjectId,
    pub peeled: Option<ObjectId>,
}

impl RefTarget {
    /// Returns the object that the ref points at after all tags have been followed.
    pub fn peeled_or_self(&self) -> ObjectId {
        self.peeled.unwrap_or(self.id)
    }
}

//! Tables of git repositories: refs, the ref log, packs, and what is derived from them.

pub mod audit;
pub mod commit_comment;
pub mod contributor;
pub mod import;
pub mod lease;
pub mod network;
pub mod pack;
pub mod protection;
pub mod ref_log;
pub mod ref_update;
pub mod release;
#[expect(clippy::module_inception, reason = "the noun of the domain's name")]
pub mod repository;
pub mod retained;
pub mod snapshot;
pub mod tag_protection;

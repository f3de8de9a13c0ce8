//! Response bodies and their presenters. A presenter is a pure function of loaded values and the role of the current
//! user; it never queries the database.

pub mod access_request;
pub mod award;
pub mod board;
pub mod branch;
pub mod build;
pub mod commit;
pub mod commit_comment;
pub mod compare;
pub mod contributor;
pub mod delivery;
pub mod deploy_key;
pub mod discussion;
pub mod email;
pub mod event;
pub mod file;
pub mod group;
pub mod hook;
pub mod import;
pub mod issue;
pub mod job_token_allowlist;
pub mod label;
pub mod member;
pub mod merge_request;
pub mod milestone;
pub mod namespace;
pub mod note;
pub mod pipeline;
pub mod project;
pub mod project_summary;
pub mod range_diff;
pub mod ref_log;
pub mod runner;
pub mod ssh_key;
pub mod tag;
pub mod time_stats;
mod timestamp;
pub mod todo;
pub mod token;
pub mod tree;
pub mod trigger;
pub mod user;
pub mod v4;
pub mod variable;

pub use timestamp::Timestamp;

//! Response bodies of version 4 of the API and their presenters. Bodies that are the same in version 3 are in the parent
//! module.

pub mod board;
pub mod branch;
pub mod commit;
pub mod deploy_key;
pub mod diff;
pub mod discussion;
pub mod event;
pub mod file;
pub mod group;
pub mod hook;
pub mod issue;
pub mod job;
pub mod label;
pub mod member;
pub mod merge_request;
pub mod metadata;
pub mod milestone;
pub mod namespace;
pub mod note;
pub mod pipeline;
pub mod project;
pub mod protected_branch;
pub mod references;
pub mod release;
pub mod runner;
pub mod search;
pub mod ssh_key;
pub mod tag;
pub mod todo;
pub mod token;
pub mod trigger;
pub mod user;
pub mod variable;

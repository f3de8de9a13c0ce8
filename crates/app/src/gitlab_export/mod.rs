//! Imports GitLab project exports (ADR 0043).
//!
//! - [`archive`] reads the archive, and trusts nothing in it.
//! - [`create`] checks an archive, creates the project and stores the archive.
//! - [`run`] is the job. It imports the repository first and then one relation after the other, in small transactions. Each
//!   of them also records how far the import is, so that another node continues there after a crash.

mod archive;
pub mod create;
mod merge_requests;
mod planning;
mod progress;
mod records;
mod relations;
mod releases;
pub(crate) mod run;
mod texts;
mod users;

pub use progress::{LeftOut, Progress};

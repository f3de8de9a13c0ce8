//! Finds the last commit of each line of a file.

use std::time::Duration;

use bytes::Bytes;
use holdfast_git::blame;
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::projects::project::Project;

pub use holdfast_git::blame::{Blame, BlamedCommit};

use super::blob::{self, LocatedFile};
use super::changes::explain_timeout;
use super::commit::{self, Commit};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::refs::ref_address::DefaultBranch;
use crate::{App, Error, Resource, Result};

/// Maximum size of a file whose lines are shown with their commits.
pub const MAX_BYTES: u64 = 512_000;
/// Maximum number of lines of such a file.
pub const MAX_LINES: usize = 10_000;
/// How long git may search. Files with a very long history take longer.
const TIMEOUT: Duration = Duration::from_secs(20);
const TIMED_OUT: &str = "The history of this file is too long for this page";
/// Number of bytes at the beginning of a file in which a zero byte means that it is binary, as git decides it.
const BINARY_PROBE_BYTES: usize = 8_000;

/// A file at a revision with the commits of its lines.
#[derive(Debug)]
pub struct BlamedFile {
    pub project: Project,
    /// The revision as the address names it.
    pub revision: String,
    pub path: String,
    /// The commit of the revision, shortened as in a list.
    pub commit: Commit,
    /// The id of the file's content.
    pub id: ObjectId,
    pub bytes: u64,
    pub content: BlamedContent,
    pub default_branch: Option<DefaultBranch>,
}

#[derive(Debug)]
pub enum BlamedContent {
    Lines {
        text: Bytes,
        blame: Blame,
    },
    Binary,
    /// The file is larger than [`MAX_BYTES`] or longer than [`MAX_LINES`].
    TooLarge,
}

/// Returns a file with the commits of its lines.
#[crate::boxed]
pub async fn show(app: &App, file: LocatedFile) -> Result<BlamedFile> {
    let default_branch = file.default_branch();
    let LocatedFile { repository, revision, path, commit: commit_id, id } = file;
    let (bytes, text) = blob::read_buffered(app, &repository, id, MAX_BYTES).await?;
    let commit = commit::load_one_listed(app, &repository, commit_id).await?;
    let content = match text {
        None => BlamedContent::TooLarge,
        Some(text) if text.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) => BlamedContent::Binary,
        Some(text) if text.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES => BlamedContent::TooLarge,
        Some(text) if text.is_empty() => BlamedContent::Lines { text, blame: Blame::default() },
        Some(text) => {
            let tree_path = TreePath::new(path.trim_matches('/')).ok_or(Error::NotFound(Resource::File))?;
            let slot = FetchSlot::acquire(app, &repository).await?;
            let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
            let search = blame::run(git, bare, commit_id, &tree_path, MAX_LINES + 1, TIMEOUT).await;
            let blame = search.map_err(|error| explain_timeout(error, TIMED_OUT))?;
            BlamedContent::Lines { text, blame }
        }
    };
    Ok(BlamedFile { project: repository.project, revision, path, commit, id, bytes, content, default_branch })
}

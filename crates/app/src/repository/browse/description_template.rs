//! Templates of descriptions: files of the default branch with which the forms of issues and merge requests begin.

use std::time::Duration;

use holdfast_git::reader::{EntryKind, TreeEntry};

use super::{blob, tree};
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

const OF_ISSUES: &str = ".gitlab/issue_templates/Default.md";
const OF_MERGE_REQUESTS: &str = ".gitlab/merge_request_templates/Default.md";
/// Maximum size of a template. Arbitrary; a longer text is nothing that people fill in.
const MAX_BYTES: u64 = 64 << 10;

/// A form without its template is better than a slow one: a node that has not got the repository yet must fetch it first.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the template of issues of a repository, if it has one that can be read in time.
pub(crate) async fn find_for_issue(app: &App, repository: &OpenRepository) -> Option<String> {
    find(app, repository, OF_ISSUES).await
}

/// Returns the template of merge requests of a repository, if it has one that can be read in time.
pub(crate) async fn find_for_merge_request(app: &App, repository: &OpenRepository) -> Option<String> {
    find(app, repository, OF_MERGE_REQUESTS).await
}

async fn find(app: &App, repository: &OpenRepository, path: &str) -> Option<String> {
    let project = repository.project.id.get();
    match tokio::time::timeout(TIMEOUT, read(app, repository, path)).await {
        Ok(Ok(template)) => template,
        Ok(Err(error)) => {
            tracing::warn!(%error, project, path, "description template not read");
            None
        }
        Err(_) => {
            tracing::info!(project, path, "description template not read in time");
            None
        }
    }
}

/// Returns the text of a file of the default branch. Returns None if it does not exist, is too large, is a symbolic link
/// or is not UTF-8.
async fn read(app: &App, repository: &OpenRepository, path: &str) -> Result<Option<String>> {
    let Some(tip) = repository.refs.head_target() else { return Ok(None) };
    let found = tree::find(app, repository, tip, path.into()).await?;
    let is_file = |entry: &TreeEntry| entry.kind() == EntryKind::File && !entry.is_symbolic_link();
    let Some(file) = found.filter(is_file) else { return Ok(None) };
    let (_, content) = blob::read_buffered(app, repository, file.id, MAX_BYTES).await?;
    Ok(content.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
}

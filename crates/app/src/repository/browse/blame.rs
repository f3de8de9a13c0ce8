//! Finds the last commit of each line of a file.

use std::ops::RangeInclusive;
use std::time::Duration;

use bytes::Bytes;
use holdfast_domain::text::shorten;
use holdfast_git::blame;
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::projects::project::{Project, ProjectRef};

pub use holdfast_git::blame::{Blame, BlamedCommit};

use super::blob::{self, LocatedFile};
use super::changes::explain_timeout;
use super::commit::{self, Commit};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::repository::refs::ref_address::DefaultBranch;
use crate::{Actor, App, Error, Resource, Result};

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

/// Maximum size of the message of a commit beside lines. A file can have as many commits as lines.
const MAX_MESSAGE_BYTES: usize = 1 << 10;

/// Lines of a file that the same commit changed last.
#[derive(Clone, Debug)]
pub struct LineBlock {
    /// The index of the commit in [`FileLines::commits`].
    pub commit: usize,
    pub lines: Vec<String>,
}

/// The lines of a file in blocks, with the commits that changed them last.
#[derive(Clone, Debug)]
pub struct FileLines {
    /// The commits, each with the beginning of its message.
    pub commits: Vec<Commit>,
    pub blocks: Vec<LineBlock>,
}

/// Returns the lines of a text file in blocks. `range` has the numbers of the first and the last line that are wanted.
#[crate::boxed]
pub async fn list_lines(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    path: &str,
    range: RangeInclusive<usize>,
) -> Result<FileLines> {
    let file = blob::locate_at_path(app, actor, project, revision, path).await?;
    let (repository, commit, id) = (&file.repository, file.commit, file.id);
    let (text, blame) = match read_content(app, repository, commit, id, &file.path).await?.1 {
        BlamedContent::Lines { text, blame } => (text, blame),
        BlamedContent::Binary => return Err(Error::Rejected("The file is not a text".into())),
        BlamedContent::TooLarge => return Err(Error::Rejected("The file is too large for this request".into())),
    };
    let ids: Vec<ObjectId> = blame.commits.iter().map(|commit| commit.id).collect();
    let read = objects::read(app, repository, move |reader| {
        let load = |id| {
            let mut commit = Commit::from(reader.commit(id)?);
            commit.abridge();
            shorten(&mut commit.message, MAX_MESSAGE_BYTES);
            Ok(commit)
        };
        ids.into_iter().map(load).collect::<Result<Vec<Commit>>>()
    });
    Ok(FileLines { commits: read.await?, blocks: split_lines(&text, &blame, &range) })
}

/// Splits a text into the blocks of its lines. Lines outside of the range are left out.
fn split_lines(text: &[u8], blame: &Blame, range: &RangeInclusive<usize>) -> Vec<LineBlock> {
    let mut lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n').enumerate();
    let mut blocks = Vec::new();
    for block in &blame.blocks {
        let taken = lines.by_ref().take(block.lines).filter(|(index, _)| range.contains(&(index + 1)));
        let lines: Vec<String> = taken.map(|(_, line)| String::from_utf8_lossy(line).into_owned()).collect();
        if !lines.is_empty() {
            blocks.push(LineBlock { commit: block.commit, lines });
        }
    }
    blocks
}

/// Returns a file with the commits of its lines.
#[crate::boxed]
pub async fn show(app: &App, file: LocatedFile) -> Result<BlamedFile> {
    let default_branch = file.default_branch();
    let LocatedFile { repository, revision, path, commit: commit_id, id, .. } = file;
    let (bytes, content) = read_content(app, &repository, commit_id, id, &path).await?;
    let commit = commit::load_one_listed(app, &repository, commit_id).await?;
    Ok(BlamedFile { project: repository.project, revision, path, commit, id, bytes, content, default_branch })
}

/// Returns the size of a file at a commit, and its lines with their commits.
async fn read_content(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    id: ObjectId,
    path: &str,
) -> Result<(u64, BlamedContent)> {
    let (bytes, text) = blob::read_buffered(app, repository, id, MAX_BYTES).await?;
    let content = match text {
        None => BlamedContent::TooLarge,
        Some(text) if text.iter().take(BINARY_PROBE_BYTES).any(|byte| *byte == 0) => BlamedContent::Binary,
        Some(text) if text.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES => BlamedContent::TooLarge,
        Some(text) if text.is_empty() => BlamedContent::Lines { text, blame: Blame::default() },
        Some(text) => {
            let tree_path = TreePath::new(path.trim_matches('/')).ok_or(Error::NotFound(Resource::File))?;
            let slot = FetchSlot::acquire(app, repository).await?;
            let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
            let search = blame::run(git, bare, commit, &tree_path, MAX_LINES + 1, TIMEOUT).await;
            let blame = search.map_err(|error| explain_timeout(error, TIMED_OUT))?;
            BlamedContent::Lines { text, blame }
        }
    };
    Ok((bytes, content))
}

#[cfg(test)]
mod tests {
    use holdfast_git::SHA1;
    use holdfast_git::blame::BlameBlock;

    use super::*;

    #[test]
    fn lines_are_split_into_the_blocks_of_their_commits() {
        let commit = |title: &str| BlamedCommit {
            id: ObjectId::null(SHA1),
            author_name: String::new(),
            author_email: String::new(),
            seconds: 0,
            title: title.to_owned(),
            previous: None,
        };
        let blocks = vec![BlameBlock { commit: 1, lines: 2 }, BlameBlock { commit: 0, lines: 1 }];
        let blame = Blame { commits: vec![commit("one"), commit("two")], blocks };
        let split = |text: &str, range| {
            let blocks = split_lines(text.as_bytes(), &blame, &range);
            blocks.into_iter().map(|block| (block.commit, block.lines.join("|"))).collect::<Vec<_>>()
        };
        let whole = [(1, "a|".to_owned()), (0, "c".to_owned())];
        assert_eq!(split("a\n\nc\n", 1..=usize::MAX), whole);
        assert_eq!(split("a\n\nc", 1..=usize::MAX), whole);
        assert_eq!(split("a\n\nc\n", 2..=2), [(1, String::new())]);
        assert_eq!(split("a\n\nc\n", 3..=9), [(0, "c".to_owned())]);
    }
}

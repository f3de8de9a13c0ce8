//! The last commits of files and directories, cached on the node.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_git::ObjectId;
use holdfast_git::reader::Reader;

use super::commit::Commit;
use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

/// How long a search for last commits may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchTime {
    /// As long as nobody notices. Commits of entries that were not changed for a long time may be missing.
    Short,
    /// Several seconds, for a viewer who asks for all last commits.
    Long,
}

impl SearchTime {
    const fn limit(self) -> Duration {
        match self {
            Self::Short => Duration::from_millis(80),
            Self::Long => Duration::from_secs(10),
        }
    }
}

/// The commits that last changed the entries of a directory.
#[derive(Debug, Default)]
pub struct LastCommits {
    /// The commits by the names of entries. Their messages are only the first lines.
    commits: HashMap<Vec<u8>, Arc<Commit>>,
    /// Whether no commit is missing.
    pub is_complete: bool,
}

/// The directory or file whose last commits are cached, at a commit. A path names either a directory or a file.
pub(crate) type LastCommitsKey = (ObjectId, Arc<str>);

impl LastCommits {
    /// Returns the last commit of the entry with this path, of which the last name counts.
    pub fn find(&self, path: &[u8]) -> Option<&Commit> {
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        self.commits.get(name).map(|commit| &**commit)
    }

    /// Returns the approximate size in memory.
    pub(crate) fn weight(&self) -> u32 {
        let texts = |commit: &Commit| commit.message.len() + commit.author.name.len() + commit.author.email.len();
        let entries = self.commits.iter().map(|(name, commit)| name.len() + texts(commit) + ENTRY_OVERHEAD_BYTES);
        u32::try_from(entries.sum::<usize>() + ENTRY_OVERHEAD_BYTES).unwrap_or(u32::MAX)
    }
}

/// Approximate size of a cached commit without its texts.
const ENTRY_OVERHEAD_BYTES: usize = 400;
/// Maximum size of the first line of a message.
const MAX_TITLE_BYTES: usize = 300;

/// Returns the last commits of the entries of a directory at a commit.
pub(crate) async fn load_for_directory(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    directory: &str,
    time: SearchTime,
) -> Result<Arc<LastCommits>> {
    let directory: Arc<str> = directory.trim_matches('/').into();
    let key = (commit, directory.clone());
    let cache = &app.git_runtime.last_commits;
    if let Some(cached) = cache.get(&key).filter(|cached| cached.is_complete || time == SearchTime::Short) {
        return Ok(cached);
    }
    let search = move |reader: &Reader| search(reader, commit, directory.as_bytes(), None, time);
    let found = Arc::new(objects::read(app, repository, search).await?);
    cache.insert(key, found.clone());
    Ok(found)
}

/// Returns the last commit of a file at a commit. Returns None if it was not found in a short time.
pub(crate) async fn load_for_file(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    path: &str,
) -> Result<Option<Commit>> {
    let path: Arc<str> = path.trim_matches('/').into();
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let cache = &app.git_runtime.last_commits;
    let in_directory = cache.get(&(commit, directory.into()));
    if let Some(known) = in_directory.as_ref().and_then(|cached| cached.find(name.as_bytes())) {
        return Ok(Some(known.clone()));
    }
    if let Some(cached) = cache.get(&(commit, path.clone())) {
        return Ok(cached.find(name.as_bytes()).cloned());
    }
    let (directory, name) = (directory.to_owned(), name.to_owned());
    let read = objects::read(app, repository, move |reader| {
        let found = search(reader, commit, directory.as_bytes(), Some(name.as_bytes()), SearchTime::Short)?;
        Ok((found.find(name.as_bytes()).cloned(), found))
    });
    let (last_commit, found) = read.await?;
    cache.insert((commit, path), Arc::new(found));
    Ok(last_commit)
}

fn search(
    reader: &Reader,
    commit: ObjectId,
    directory: &[u8],
    only: Option<&[u8]>,
    time: SearchTime,
) -> Result<LastCommits> {
    let last = reader.last_commits(commit, directory, only, Instant::now() + time.limit())?;
    let mut by_id: HashMap<ObjectId, Arc<Commit>> = HashMap::new();
    let mut commits = HashMap::with_capacity(last.found.len());
    for (name, id) in last.found {
        let commit = match by_id.get(&id) {
            Some(known) => known.clone(),
            None => {
                let loaded = Arc::new(with_title_only(reader.commit(id)?.into()));
                by_id.insert(id, loaded.clone());
                loaded
            }
        };
        commits.insert(name, commit);
    }
    Ok(LastCommits { commits, is_complete: last.is_complete })
}

fn with_title_only(mut commit: Commit) -> Commit {
    commit.abridge();
    let title = commit.message.trim_start().lines().next().unwrap_or_default();
    commit.message = super::commit::clean_text(title, MAX_TITLE_BYTES);
    commit.parents = Vec::new();
    commit
}

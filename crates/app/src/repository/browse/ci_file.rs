//! Reads what a pipeline needs from a repository: a commit, and its CI file.

use chrono::SecondsFormat;
use holdfast_git::ObjectId;
use holdfast_git::reader::{EntryKind, Kind, Reader};
use holdfast_store::ci::pipeline::CommitSummary;

use super::commit::{clean_name, clean_text, signature_time};
use super::tree;
use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

pub(crate) const PATH: &str = ".gitlab-ci.yml";
pub(crate) const MAX_BYTES: u64 = 1 << 20;

pub(crate) enum CiFileContent {
    Missing,
    TooLarge,
    Text(Vec<u8>),
}

/// Loads a commit and its CI file. Returns `None` if the object is not a commit.
pub(crate) async fn load(
    app: &App,
    repository: &OpenRepository,
    commit_id: ObjectId,
) -> Result<Option<(CommitSummary, CiFileContent)>> {
    let commit = objects::read(app, repository, move |reader| {
        Ok(if reader.kind(commit_id)? == Some(Kind::Commit) { Some(commit_summary(reader, commit_id)?) } else { None })
    });
    let Some(commit) = commit.await? else { return Ok(None) };
    let file =
        tree::find(app, repository, commit_id, PATH.into()).await?.filter(|entry| entry.kind() == EntryKind::File);
    let Some(file) = file else { return Ok(Some((commit, CiFileContent::Missing))) };
    let content = objects::read(app, repository, move |reader| {
        let bytes = reader.header(file.id)?.map_or(0, |(_, bytes)| bytes);
        Ok(if bytes > MAX_BYTES { CiFileContent::TooLarge } else { CiFileContent::Text(reader.content(file.id)?) })
    });
    Ok(Some((commit, content.await?)))
}

fn commit_summary(reader: &Reader, id: ObjectId) -> Result<CommitSummary> {
    let commit = reader.commit(id)?;
    let committed_at = signature_time(&commit.committer).unwrap_or_default();
    Ok(CommitSummary {
        id: id.to_string(),
        message: clean_text(&commit.message, usize::MAX),
        author_name: clean_name(&commit.author.name),
        author_email: clean_name(&commit.author.email),
        committer_name: clean_name(&commit.committer.name),
        committer_email: clean_name(&commit.committer.email),
        created_at: committed_at.to_rfc3339_opts(SecondsFormat::Millis, false),
    })
}

/// Returns whether a commit may have a CI file. If it has none, no pipeline job is needed.
pub(in crate::repository) fn may_exist_at(reader: &Reader, commit: ObjectId) -> Result<bool> {
    use holdfast_git::reader::TreeLookup;
    if reader.kind(commit)? != Some(Kind::Commit) {
        return Ok(false);
    }
    Ok(match reader.find_entry(reader.commit_tree_id(commit)?, PATH.as_bytes())? {
        TreeLookup::Done(found) => found.is_some(),
        TreeLookup::TooLarge { .. } => true,
    })
}

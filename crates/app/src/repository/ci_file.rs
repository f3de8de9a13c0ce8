//! What pipelines need of a repository: a commit, and the file in it that says what to do.

use chrono::SecondsFormat;
use holdfast_git::ObjectId;
use holdfast_git::reader::{EntryKind, Kind, Reader};
use holdfast_store::ci::pipeline::CommitFacts;

use super::commit::time;
use super::fetch::Opened;
use super::{objects, push_details, tree};
use crate::{App, Result};

pub(crate) const PATH: &str = ".gitlab-ci.yml";
pub(crate) const LARGEST: u64 = 1 << 20;

pub(crate) enum Content {
    Missing,
    TooLarge,
    Text(Vec<u8>),
}

/// None if it is no commit.
pub(crate) async fn load(app: &App, opened: &Opened, at: ObjectId) -> Result<Option<(CommitFacts, Content)>> {
    let commit = objects::read(app, opened, move |reader| {
        Ok(if reader.kind(at)? == Some(Kind::Commit) { Some(facts(reader, at)?) } else { None })
    });
    let Some(commit) = commit.await? else { return Ok(None) };
    let file = tree::find(app, opened, at, PATH.into()).await?.filter(|entry| entry.kind() == EntryKind::File);
    let Some(file) = file else { return Ok(Some((commit, Content::Missing))) };
    let content = objects::read(app, opened, move |reader| {
        let bytes = reader.header(file.id)?.map_or(0, |(_, bytes)| bytes);
        Ok(if bytes > LARGEST { Content::TooLarge } else { Content::Text(reader.content(file.id)?) })
    });
    Ok(Some((commit, content.await?)))
}

fn facts(reader: &Reader, id: ObjectId) -> Result<CommitFacts> {
    let commit = reader.commit(id)?;
    let at = time(&commit.committer).unwrap_or_default();
    Ok(CommitFacts {
        id: id.to_string(),
        message: push_details::text(&commit.message, usize::MAX),
        author_name: push_details::name(&commit.author.name),
        author_email: push_details::name(&commit.author.email),
        committer_name: push_details::name(&commit.committer.name),
        committer_email: push_details::name(&commit.committer.email),
        created_at: at.to_rfc3339_opts(SecondsFormat::Millis, false),
    })
}

/// Whether there could be a file at that commit: if not, nobody need look for one later.
pub(super) fn may_be_at(reader: &Reader, commit: ObjectId) -> Result<bool> {
    use holdfast_git::reader::Search;
    if reader.kind(commit)? != Some(Kind::Commit) {
        return Ok(false);
    }
    Ok(match reader.find(reader.tree_of(commit)?, PATH.as_bytes())? {
        Search::Done(found) => found.is_some(),
        Search::Large { .. } => true,
    })
}

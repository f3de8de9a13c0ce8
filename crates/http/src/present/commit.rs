//! Presents commits.

use chrono::{DateTime, FixedOffset, SecondsFormat};
use holdfast_app::repository::browse::commit::Commit;
use serde::Serialize;
use utoipa::ToSchema;

/// A commit as part of a branch.
#[derive(Serialize, ToSchema)]
pub struct CommitBody {
    #[serde(flatten)]
    pub facts: CommitFacts,
    pub parent_ids: Vec<String>,
}

/// A commit as part of a tag. The parents are named `parents_ids` here.
#[derive(Serialize, ToSchema)]
pub struct TaggedCommit {
    #[serde(flatten)]
    pub facts: CommitFacts,
    pub parents_ids: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub struct CommitFacts {
    pub id: String,
    pub message: String,
    pub author_name: String,
    pub author_email: String,
    /// Dates of commits are in the time zone that the commit records.
    pub authored_date: String,
    pub committer_name: String,
    pub committer_email: String,
    pub committed_date: String,
}

pub fn commit(commit: Commit) -> CommitBody {
    CommitBody { parent_ids: parents(&commit), facts: facts(commit) }
}

pub fn tagged_commit(commit: Commit) -> TaggedCommit {
    TaggedCommit { parents_ids: parents(&commit), facts: facts(commit) }
}

fn parents(commit: &Commit) -> Vec<String> {
    commit.parents.iter().map(ToString::to_string).collect()
}

fn facts(commit: Commit) -> CommitFacts {
    CommitFacts {
        id: commit.id.to_string(),
        message: commit.message,
        author_name: commit.author.name,
        author_email: commit.author.email,
        authored_date: date(&commit.author.date),
        committer_name: commit.committer.name,
        committer_email: commit.committer.email,
        committed_date: date(&commit.committer.date),
    }
}

/// A commit in a list.
#[derive(Serialize, ToSchema)]
pub struct ListedCommit {
    pub id: String,
    pub short_id: String,
    pub title: String,
    pub author_name: String,
    pub author_email: String,
    pub created_at: String,
}

pub fn listed_commit(commit: Commit) -> ListedCommit {
    let id = commit.id.to_string();
    ListedCommit {
        short_id: id[..8].to_owned(),
        id,
        title: title(&commit.message),
        author_name: commit.author.name,
        author_email: commit.author.email,
        created_at: date(&commit.committer.date),
    }
}

/// Returns the title of a commit: the first line of its message. A line of more than 100 characters is cut to 80, as
/// existing clients expect.
pub(super) fn title(message: &str) -> String {
    let line = message.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.chars().count() {
        0 => "--no commit message".into(),
        1..=100 => line.to_owned(),
        _ => line.chars().take(80).chain(['…']).collect(),
    }
}

fn date(time: &DateTime<FixedOffset>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, false)
}

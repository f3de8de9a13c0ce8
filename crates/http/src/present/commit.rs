//! Presents commits.

use chrono::{DateTime, FixedOffset, SecondsFormat};
use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::browse::commit_detail::CommitDetail;
use holdfast_domain::ci::Status;
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

/// A commit in a list of commits.
#[derive(Serialize, ToSchema)]
pub struct CommitSummary {
    #[serde(flatten)]
    commit: ListedCommit,
    committer_name: String,
    committer_email: String,
    message: String,
}

pub fn present_commit_summary(commit: Commit) -> CommitSummary {
    CommitSummary {
        committer_name: commit.committer.name.clone(),
        committer_email: commit.committer.email.clone(),
        message: commit.message.clone(),
        commit: listed_commit(commit),
    }
}

/// A commit with what it changes.
#[derive(Serialize, ToSchema)]
pub struct CommitDetailBody {
    #[serde(flatten)]
    summary: CommitSummary,
    parent_ids: Vec<String>,
    authored_date: String,
    committed_date: String,
    stats: CommitStats,
    /// The status of the newest pipeline of the commit.
    status: Option<&'static str>,
}

/// The numbers of lines that a commit adds and removes, compared with its first parent.
#[derive(Serialize, ToSchema)]
pub struct CommitStats {
    additions: u64,
    deletions: u64,
    total: u64,
}

pub fn present_commit_detail(detail: CommitDetail) -> CommitDetailBody {
    let CommitDetail { commit, lines, status } = detail;
    CommitDetailBody {
        parent_ids: parents(&commit),
        authored_date: date(&commit.author.date),
        committed_date: date(&commit.committer.date),
        stats: CommitStats { additions: lines.added, deletions: lines.removed, total: lines.added + lines.removed },
        status: status.map(Status::as_str),
        summary: present_commit_summary(commit),
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

pub(super) fn date(time: &DateTime<FixedOffset>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, false)
}

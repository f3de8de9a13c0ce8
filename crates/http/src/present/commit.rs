use chrono::{DateTime, FixedOffset, SecondsFormat};
use holdfast_app::repository::commit::Commit;
use serde::Serialize;
use utoipa::ToSchema;

/// A commit inside a branch.
#[derive(Serialize, ToSchema)]
pub struct CommitBody {
    #[serde(flatten)]
    pub facts: CommitFacts,
    pub parent_ids: Vec<String>,
}

/// A commit inside a tag, where one name differs.
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
    /// In the time zone in which it was recorded, as all dates of commits.
    pub authored_date: String,
    pub committer_name: String,
    pub committer_email: String,
    pub committed_date: String,
}

pub fn commit(commit: Commit) -> CommitBody {
    CommitBody { parent_ids: parents(&commit), facts: facts(commit) }
}

pub fn tagged(commit: Commit) -> TaggedCommit {
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
        authored_date: date(&commit.author.at),
        committer_name: commit.committer.name,
        committer_email: commit.committer.email,
        committed_date: date(&commit.committer.at),
    }
}

/// A commit in a list of many.
#[derive(Serialize, ToSchema)]
pub struct ListedCommit {
    pub id: String,
    pub short_id: String,
    pub title: String,
    pub author_name: String,
    pub author_email: String,
    pub created_at: String,
}

pub fn listed(commit: Commit) -> ListedCommit {
    let id = commit.id.to_string();
    ListedCommit {
        short_id: id[..8].to_owned(),
        id,
        title: title(&commit.message),
        author_name: commit.author.name,
        author_email: commit.author.email,
        created_at: date(&commit.committer.at),
    }
}

/// Its first line; what is longer than a hundred characters is cut, as existing clients know it.
pub(super) fn title(message: &str) -> String {
    let line = message.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.chars().count() {
        0 => "--no commit message".into(),
        1..=100 => line.to_owned(),
        _ => line.chars().take(80).chain(['…']).collect(),
    }
}

fn date(at: &DateTime<FixedOffset>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, false)
}

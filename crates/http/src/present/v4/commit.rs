//! Presents commits.

use std::collections::BTreeMap;

use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::browse::commit_detail::CommitWithPipeline;
use holdfast_app::repository::commit_comment::CommitComment;
use serde::Serialize;
use utoipa::ToSchema;

use super::pipeline::{self, PipelineBasic};
use super::user::{UserBasic, present_basic};
use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::commit::{date, title};

/// A commit. It has this form everywhere.
#[derive(Serialize, ToSchema)]
pub struct CommitBody {
    pub id: String,
    pub short_id: String,
    /// The same as `committed_date`. Dates of commits are in the time zone that the commit records.
    pub created_at: String,
    pub parent_ids: Vec<String>,
    pub title: String,
    pub message: String,
    pub author_name: String,
    pub author_email: String,
    pub authored_date: String,
    pub committer_name: String,
    pub committer_email: String,
    pub committed_date: String,
    /// Always empty: trailers are part of the message.
    pub trailers: BTreeMap<String, String>,
    pub extended_trailers: BTreeMap<String, Vec<String>>,
    pub web_url: String,
}

/// Presents a commit of the project with this path, such as `group/project`.
pub fn present_commit(commit: Commit, project_path: &str, site: &InstanceUrls) -> CommitBody {
    let id = commit.id.to_string();
    CommitBody {
        short_id: id[..8].to_owned(),
        created_at: date(&commit.committer.date),
        parent_ids: commit.parents.iter().map(ToString::to_string).collect(),
        title: title(&commit.message),
        message: commit.message,
        author_name: commit.author.name,
        author_email: commit.author.email,
        authored_date: date(&commit.author.date),
        committer_name: commit.committer.name,
        committer_email: commit.committer.email,
        committed_date: date(&commit.committer.date),
        trailers: BTreeMap::new(),
        extended_trailers: BTreeMap::new(),
        web_url: site.url(&format!("/{project_path}/commit/{id}")),
        id,
    }
}

/// A commit with what it changes and its newest pipeline.
#[derive(Serialize, ToSchema)]
pub struct SingleCommit {
    #[serde(flatten)]
    pub commit: CommitBody,
    /// Only if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<LineCounts>,
    /// The status of the newest pipeline of the commit.
    pub status: Option<&'static str>,
    pub project_id: i64,
    pub last_pipeline: Option<PipelineBasic>,
}

/// The numbers of lines that a commit adds and removes, compared with its first parent.
#[derive(Serialize, ToSchema)]
pub struct LineCounts {
    pub additions: u64,
    pub deletions: u64,
    pub total: u64,
}

pub fn present_single_commit(found: CommitWithPipeline, site: &InstanceUrls) -> SingleCommit {
    let path = found.project.full_path();
    SingleCommit {
        commit: present_commit(found.commit, &path, site),
        stats: found.lines.map(|lines| LineCounts {
            additions: lines.added,
            deletions: lines.removed,
            total: lines.added + lines.removed,
        }),
        status: found.pipeline.as_ref().map(|pipeline| pipeline.status.as_str()),
        project_id: found.project.id.get(),
        last_pipeline: found.pipeline.as_ref().map(|pipeline| pipeline::present_basic(pipeline, &path, site)),
    }
}

/// A branch or tag that contains a commit.
#[derive(Serialize, ToSchema)]
pub struct CommitRef {
    /// `branch` or `tag`.
    pub r#type: &'static str,
    pub name: String,
}

/// A comment on a commit.
#[derive(Serialize, ToSchema)]
pub struct CommitNote {
    pub note: String,
    /// The file that the comment is about.
    pub path: Option<String>,
    /// The number of the line, null if the comment is not on a line that the commit changes.
    pub line: Option<i32>,
    /// `new` or `old`.
    pub line_type: Option<&'static str>,
    pub author: UserBasic,
    pub created_at: Timestamp,
}

pub fn present_commit_note(comment: CommitComment, site: &InstanceUrls) -> CommitNote {
    let line = comment.line();
    CommitNote {
        line: line.map(|line| line.number),
        line_type: line.map(|line| if line.is_removed { "old" } else { "new" }),
        author: present_basic(&comment.author, site),
        created_at: comment.created_at.into(),
        note: comment.body,
        path: comment.path,
    }
}

//! Presents comments on commits.

use holdfast_app::repository::commit_comment::CommitComment;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// A comment on a commit.
#[derive(Serialize, ToSchema)]
pub struct CommitCommentBody {
    note: String,
    /// The file that the comment is about.
    path: Option<String>,
    /// The number of the line, null if the comment is not on a line that the commit changes.
    line: Option<i32>,
    /// `new` or `old`.
    line_type: Option<&'static str>,
    author: UserSummaryBody,
    created_at: Timestamp,
}

pub fn present_commit_comment(comment: CommitComment, site: &InstanceUrls) -> CommitCommentBody {
    let line = comment.line();
    CommitCommentBody {
        line: line.map(|line| line.number),
        line_type: line.map(|line| if line.is_removed { "old" } else { "new" }),
        author: user::summary(&comment.author, site),
        created_at: comment.created_at.into(),
        note: comment.body,
        path: comment.path,
    }
}

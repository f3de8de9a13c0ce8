//! Presents the numbers of what needs the attention of a user.

use holdfast_app::activity::inbox::InboxCounts;
use serde::Serialize;
use utoipa::ToSchema;

/// Numbers of what needs the attention of the current user, each up to 10,000.
#[derive(Serialize, ToSchema)]
pub struct UserCounts {
    /// Open merge requests that are assigned to the user.
    pub merge_requests: i64,
    /// Open issues that are assigned to the user.
    pub assigned_issues: i64,
    /// Always 0: merge requests have no reviewers.
    pub review_requested_merge_requests: i64,
    /// Todos that the user has not marked as done, about what the user can read.
    pub todos: i64,
}

pub fn present_counts(counts: InboxCounts) -> UserCounts {
    let InboxCounts { merge_requests, issues, todos } = counts;
    UserCounts { merge_requests, assigned_issues: issues, review_requested_merge_requests: 0, todos }
}

//! The texts of system notes on merge requests.

use holdfast_domain::merge_requests::{MergeRequestState, is_work_in_progress};
use holdfast_store::merge_requests::merge_request::MergeRequest;

use crate::planning::system_note::{CommonAttributes, for_common_attributes};
use crate::repository::browse::commit::Commit;

/// Returns the attributes of a merge request that issues have, too.
pub(super) fn common_attributes(request: &MergeRequest) -> CommonAttributes<'_> {
    CommonAttributes {
        title: &request.title,
        description: request.description.as_deref(),
        assignee: request.assignee.as_ref(),
        milestone: request.milestone.as_ref(),
    }
}

/// Returns the texts about an update, one for each changed attribute.
pub(super) fn for_update(
    before: &MergeRequest,
    after: &MergeRequest,
    added: &[String],
    removed: &[String],
) -> Vec<String> {
    let mut notes = for_common_attributes(common_attributes(before), common_attributes(after), added, removed);
    match (is_work_in_progress(&before.title), is_work_in_progress(&after.title)) {
        (false, true) => notes.push("marked as a **Work In Progress**".into()),
        (true, false) => notes.push("unmarked as a **Work In Progress**".into()),
        _ => {}
    }
    if before.target_branch != after.target_branch {
        notes.push(format!("changed target branch from `{}` to `{}`", before.target_branch, after.target_branch));
    }
    if before.state != after.state {
        let text = match after.state {
            MergeRequestState::Closed => "closed",
            MergeRequestState::Opened | MergeRequestState::Reopened => "reopened",
            MergeRequestState::Merged => MERGED,
        };
        notes.push(text.into());
    }
    notes
}

pub(super) const MERGED: &str = "merged";

/// Maximum number of commits that a note names. Arbitrary.
const MAX_NAMED_COMMITS: usize = 20;
/// Maximum number of commits of a push that are counted. Arbitrary.
pub(super) const MAX_NOTED_COMMITS: usize = 1_000;

/// Returns the text about new commits, which come newest first.
pub(super) fn for_commits(commits: &[Commit]) -> String {
    let mut text = match commits.len() {
        1 => "added 1 commit\n".to_owned(),
        total if total > MAX_NOTED_COMMITS => format!("added more than {MAX_NOTED_COMMITS} commits\n"),
        total => format!("added {total} commits\n"),
    };
    for commit in commits.iter().take(MAX_NAMED_COMMITS) {
        let title = commit.message.trim_start().lines().next().unwrap_or_default();
        text += &format!("\n* {} - {}", &commit.id.to_string()[..8], title.trim_end());
    }
    text
}

pub(super) fn for_deleted_source(branch: &str) -> String {
    format!("deleted source branch `{branch}`")
}

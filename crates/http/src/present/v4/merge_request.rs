//! Presents merge requests and their versions.

use std::io;

use bytes::Bytes;
use chrono::NaiveDate;
use futures_util::stream::BoxStream;
use holdfast_app::merge_requests::blocker::Blocker;
use holdfast_app::merge_requests::detail::MergeRequestDetail;
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::merge_requests::pipeline::RequestPipeline;
use holdfast_app::merge_requests::version::{ComparedVersion, VersionDetails};
use holdfast_app::planning::time_tracking::TimeStats;
use holdfast_app::repository::browse::compare::ComparisonParts;
use holdfast_domain::merge_requests::{MergeRequestState, MergeStatus, is_work_in_progress};
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{CommitBody, present_commit};
use super::diff::{DiffFormat, FileDiffBody, present_file_diff};
use super::label::LabelList;
use super::milestone::{ProjectMilestone, present_milestone};
use super::pipeline::PipelineBasic;
use super::references::{References, TaskCompletionStatus, references, task_completion};
use super::user::{UserBasic, present_basic as present_user};
use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::compare::{json, write_diffs_in};
use crate::present::time_stats::{TimeStatsBody, present_time_stats};

/// A merge request in a list.
#[derive(Serialize, ToSchema)]
pub struct MergeRequestBasic {
    pub id: i64,
    /// Number of the merge request within the target project.
    pub iid: i64,
    /// Id of the target project.
    pub project_id: i64,
    pub title: String,
    pub description: Option<String>,
    /// `opened`, `closed` or `merged`.
    pub state: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Always null: the user is not stored. A system note has it.
    pub merged_by: Option<UserBasic>,
    /// Always null, as `merged_by`.
    pub merge_user: Option<UserBasic>,
    pub merged_at: Option<Timestamp>,
    /// Always null: the user is not stored. A system note has it.
    pub closed_by: Option<UserBasic>,
    /// Always null: the time is not stored. A system note has it.
    pub closed_at: Option<Timestamp>,
    pub target_branch: String,
    pub source_branch: String,
    pub user_notes_count: i32,
    pub upvotes: i32,
    pub downvotes: i32,
    pub author: UserBasic,
    /// Assignee, or nobody. There is at most one.
    pub assignees: Vec<UserBasic>,
    pub assignee: Option<UserBasic>,
    /// Always empty: merge requests have no reviewers.
    pub reviewers: Vec<UserBasic>,
    /// Id of the project of the source branch, null if it was deleted.
    pub source_project_id: Option<i64>,
    pub target_project_id: i64,
    pub labels: LabelList,
    /// Whether the title begins with `Draft:` or a similar prefix.
    pub draft: bool,
    pub imported: bool,
    pub imported_from: &'static str,
    /// The same as `draft`.
    pub work_in_progress: bool,
    pub milestone: Option<ProjectMilestone>,
    /// Whether it is merged when the pipeline of its head succeeds.
    pub merge_when_pipeline_succeeds: bool,
    /// `can_be_merged` or `cannot_be_merged` if the present branches were tested, otherwise `unchecked`.
    pub merge_status: &'static str,
    /// `mergeable`, or why it cannot be merged: `not_open`, `draft_status`, `conflict`, `unchecked`, and only in the
    /// response for a single merge request `commits_status`, `discussions_not_resolved`, `ci_still_running` or
    /// `ci_must_pass`.
    pub detailed_merge_status: &'static str,
    pub merge_after: Option<Timestamp>,
    /// Id of the last commit of the source branch.
    pub sha: String,
    pub merge_commit_sha: Option<String>,
    pub squash_commit_sha: Option<String>,
    pub discussion_locked: Option<bool>,
    /// Whether the merge that waits for a pipeline deletes the source branch.
    pub should_remove_source_branch: Option<bool>,
    /// Whether the author wants the source branch to be deleted after the merge.
    pub force_remove_source_branch: Option<bool>,
    /// Always false. Only if the source branch is in a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_collaboration: Option<bool>,
    pub prepared_at: Timestamp,
    /// Such as `!7`.
    pub reference: String,
    pub references: References,
    pub web_url: String,
    pub time_stats: TimeStatsBody,
    /// Always false: merges keep the commits.
    pub squash: bool,
    pub squash_on_merge: bool,
    pub task_completion_status: TaskCompletionStatus,
    pub has_conflicts: bool,
    /// Whether all discussions are resolved.
    pub blocking_discussions_resolved: bool,
}

pub fn present_merge_request(request: MergeRequest, today: NaiveDate, site: &InstanceUrls) -> MergeRequestBasic {
    let assignee = || request.assignee.as_ref().map(|assignee| present_user(assignee, site));
    let is_draft = is_work_in_progress(&request.title);
    let names = references('!', request.iid, &request.project_path);
    let times = TimeStats { time_estimate: request.time_estimate, time_spent: request.time_spent };
    let is_from_fork = request.source_project().is_some_and(|source| source != request.project_id);
    MergeRequestBasic {
        id: request.id.get(),
        iid: request.iid,
        project_id: request.project_id.get(),
        state: match request.state {
            MergeRequestState::Opened | MergeRequestState::Reopened => "opened",
            MergeRequestState::Closed => "closed",
            MergeRequestState::Merged => "merged",
        },
        created_at: request.created_at.into(),
        updated_at: request.updated_at.into(),
        merged_by: None,
        merge_user: None,
        merged_at: request.merged_at.map(Into::into),
        closed_by: None,
        closed_at: None,
        user_notes_count: request.notes_count,
        upvotes: request.upvotes,
        downvotes: request.downvotes,
        author: present_user(&request.author, site),
        assignees: assignee().into_iter().collect(),
        assignee: assignee(),
        reviewers: Vec::new(),
        source_project_id: request.source_project().map(|id| id.get()),
        target_project_id: request.project_id.get(),
        draft: is_draft,
        imported: false,
        imported_from: "none",
        work_in_progress: is_draft,
        merge_when_pipeline_succeeds: request.waits_for_build,
        merge_status: request.merge_status.as_str(),
        detailed_merge_status: match request.merge_status {
            _ if !request.state.is_open() => "not_open",
            _ if is_draft => "draft_status",
            MergeStatus::Unchecked => "unchecked",
            MergeStatus::CanBeMerged => "mergeable",
            MergeStatus::CannotBeMerged => "conflict",
        },
        merge_after: None,
        squash_commit_sha: None,
        discussion_locked: None,
        should_remove_source_branch: request.waiting_removes_source_branch,
        force_remove_source_branch: request.removes_source_branch,
        allow_collaboration: is_from_fork.then_some(false),
        prepared_at: request.created_at.into(),
        reference: names.short.clone(),
        references: names,
        web_url: site.url(&format!("/{}/merge_requests/{}", request.project_path, request.iid)),
        time_stats: present_time_stats(times),
        squash: false,
        squash_on_merge: false,
        task_completion_status: task_completion(request.description.as_deref()),
        has_conflicts: request.merge_status == MergeStatus::CannotBeMerged,
        blocking_discussions_resolved: request.discussions_resolved,
        milestone: request.milestone.map(|milestone| present_milestone(milestone, &request.project_path, today, site)),
        labels: LabelList::Names(request.labels),
        sha: request.head,
        merge_commit_sha: request.merge_commit,
        target_branch: request.target_branch,
        source_branch: request.source_branch,
        title: request.title,
        description: request.description,
    }
}

/// A merge request that is shown alone.
#[derive(Serialize, ToSchema)]
pub struct MergeRequestFull {
    #[serde(flatten)]
    pub basic: MergeRequestBasic,
    /// Whether the current user is subscribed.
    pub subscribed: bool,
    /// Number of files that differ, null if it was not computed yet.
    pub changes_count: Option<String>,
    pub latest_build_started_at: Option<Timestamp>,
    pub latest_build_finished_at: Option<Timestamp>,
    pub first_deployed_to_production_at: Option<Timestamp>,
    /// The same as `head_pipeline`.
    pub pipeline: Option<PipelineBasic>,
    /// Newest pipeline of the last commit, null if there is none or the current user may not read it.
    pub head_pipeline: Option<PipelineBasic>,
    pub diff_refs: DiffRefs,
    pub merge_error: Option<String>,
    pub first_contribution: bool,
    pub user: MergeRights,
    /// Always false. Only if `include_rebase_in_progress` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebase_in_progress: Option<bool>,
}

/// The commits that the changes of a merge request are computed from.
#[derive(Serialize, ToSchema)]
pub struct DiffRefs {
    /// Merge base of head and start, null if they have no common history or it was not computed yet.
    pub base_sha: Option<String>,
    pub head_sha: String,
    /// Last commit of the target branch when the source branch was updated last.
    pub start_sha: Option<String>,
}

/// What the current user may do with a merge request.
#[derive(Serialize, ToSchema)]
pub struct MergeRights {
    /// Whether the current user may merge into the target branch.
    pub can_merge: bool,
}

pub fn present_detail(detail: MergeRequestDetail, today: NaiveDate, site: &InstanceUrls) -> MergeRequestFull {
    let MergeRequestDetail { request, version, pipeline, blockers } = detail;
    let ComparedVersion { version, comparison } = version;
    let (is_open, subscribed) = (request.state.is_open(), request.subscribed);
    let basic = present_merge_request(request, today, site);
    let detailed_merge_status = match merge_status_by_blockers(&blockers) {
        None if is_open && basic.merge_status == MergeStatus::Unchecked.as_str() => "unchecked",
        None => "mergeable",
        Some(status) => status,
    };
    let present_pipeline = || pipeline.as_ref().map(|it| present_request_pipeline(it, site));
    MergeRequestFull {
        subscribed,
        changes_count: comparison.map(|it| it.files.to_string()),
        latest_build_started_at: pipeline.as_ref().and_then(|it| it.started_at).map(Into::into),
        latest_build_finished_at: pipeline.as_ref().and_then(|it| it.finished_at).map(Into::into),
        first_deployed_to_production_at: None,
        pipeline: present_pipeline(),
        head_pipeline: present_pipeline(),
        diff_refs: DiffRefs {
            base_sha: comparison.and_then(|it| it.base).map(|id| id.to_string()),
            head_sha: version.head.to_string(),
            start_sha: version.start.map(|id| id.to_string()),
        },
        merge_error: None,
        first_contribution: false,
        user: MergeRights { can_merge: !blockers.contains(&Blocker::NotAllowed) },
        rebase_in_progress: None,
        basic: MergeRequestBasic {
            detailed_merge_status,
            has_conflicts: blockers.iter().any(|blocker| matches!(blocker, Blocker::Conflicts(_))),
            ..basic
        },
    }
}

/// Returns the most important reason why nobody can merge. That the current user may not merge is not a reason.
fn merge_status_by_blockers(blockers: &[Blocker]) -> Option<&'static str> {
    let rank = |blocker: &Blocker| match blocker {
        Blocker::NotAllowed => None,
        Blocker::NotOpen | Blocker::Archived => Some((0, "not_open")),
        Blocker::WorkInProgress => Some((1, "draft_status")),
        Blocker::NoSourceBranch | Blocker::NoTargetBranch | Blocker::NoCommits => Some((2, "commits_status")),
        Blocker::Conflicts(_) => Some((3, "conflict")),
        Blocker::UnresolvedDiscussions => Some((4, "discussions_not_resolved")),
        Blocker::Pipeline(Some(status)) if status.is_complete() => Some((5, "ci_must_pass")),
        Blocker::Pipeline(_) => Some((5, "ci_still_running")),
    };
    blockers.iter().filter_map(rank).min().map(|(_, status)| status)
}

/// Presents a pipeline of a merge request.
pub fn present_request_pipeline(pipeline: &RequestPipeline, site: &InstanceUrls) -> PipelineBasic {
    let id = pipeline.id.get();
    PipelineBasic {
        id,
        iid: id,
        project_id: pipeline.project_id.get(),
        sha: pipeline.sha.clone(),
        r#ref: pipeline.ref_name.clone(),
        status: pipeline.status.as_str(),
        source: pipeline.source.as_str(),
        created_at: pipeline.created_at.into(),
        updated_at: pipeline.updated_at.into(),
        web_url: site.url(&format!("/{}/pipelines/{id}", pipeline.project_path)),
    }
}

/// The approvals of a merge request. There are none, and none are needed.
#[derive(Serialize, ToSchema)]
pub struct Approvals {
    pub approved: bool,
    pub approved_by: Vec<Approver>,
    pub user_has_approved: bool,
    pub user_can_approve: bool,
    pub approvals_required: i32,
    pub approvals_left: i32,
}

/// A user who approved a merge request.
#[derive(Serialize, ToSchema)]
pub struct Approver {
    pub user: UserBasic,
}

pub fn present_approvals() -> Approvals {
    Approvals {
        approved: false,
        approved_by: Vec::new(),
        user_has_approved: false,
        user_can_approve: false,
        approvals_required: 0,
        approvals_left: 0,
    }
}

/// A merge request with the changes of its newest version.
#[derive(Serialize, ToSchema)]
pub struct MergeRequestWithChanges {
    #[serde(flatten)]
    request: MergeRequestWithOverflow,
    changes: Vec<FileDiffBody>,
}

#[derive(Serialize, ToSchema)]
struct MergeRequestWithOverflow {
    #[serde(flatten)]
    request: MergeRequestFull,
    /// Always false: all files are shown.
    overflow: bool,
}

/// Serializes a merge request with its changes, while git produces them.
pub fn present_changes(
    request: MergeRequestFull,
    changes: ComparisonParts,
    format: DiffFormat,
) -> BoxStream<'static, io::Result<Bytes>> {
    let request = MergeRequestWithOverflow { request, overflow: false };
    write_diffs_in(&request, "changes", changes, move |file| json(&present_file_diff(file, format)))
}

/// A version of a merge request: a head that it had, and the target branch at that time.
#[derive(Serialize, ToSchema)]
pub struct MergeRequestVersion {
    pub id: i64,
    pub head_commit_sha: String,
    /// Merge base of head and start, null if they have no common history or it was not computed yet.
    pub base_commit_sha: Option<String>,
    /// Last commit of the target branch at that time.
    pub start_commit_sha: Option<String>,
    pub created_at: Timestamp,
    pub merge_request_id: i64,
    /// `collected`, `empty` if no file differs, or `overflow` if the comparison was not computed yet.
    pub state: &'static str,
    /// Number of files that differ.
    pub real_size: String,
}

pub fn present_version(compared: &ComparedVersion) -> MergeRequestVersion {
    let ComparedVersion { version, comparison } = compared;
    MergeRequestVersion {
        id: version.id.get(),
        head_commit_sha: version.head.to_string(),
        base_commit_sha: comparison.and_then(|it| it.base).map(|id| id.to_string()),
        start_commit_sha: version.start.map(|id| id.to_string()),
        created_at: version.created_at.into(),
        merge_request_id: version.request.get(),
        state: match comparison.map(|it| it.files) {
            None => "overflow",
            Some(0) => "empty",
            Some(_) => "collected",
        },
        real_size: comparison.map_or(0, |it| it.files).to_string(),
    }
}

/// A version of a merge request with its commits and changes.
#[derive(Serialize, ToSchema)]
pub struct VersionWithChanges {
    #[serde(flatten)]
    version: VersionAndCommits,
    diffs: Vec<FileDiffBody>,
}

#[derive(Serialize, ToSchema)]
struct VersionAndCommits {
    #[serde(flatten)]
    version: MergeRequestVersion,
    commits: Vec<CommitBody>,
}

/// Serializes a version with its changes, while git produces them.
pub fn present_version_details(
    details: VersionDetails,
    format: DiffFormat,
    site: &InstanceUrls,
) -> BoxStream<'static, io::Result<Bytes>> {
    let path = &details.project_path;
    let commits = details.commits.into_iter().map(|commit| present_commit(commit, path, site)).collect();
    let version = VersionAndCommits { version: present_version(&details.version), commits };
    write_diffs_in(&version, "diffs", details.changes, move |file| json(&present_file_diff(file, format)))
}

#[cfg(test)]
mod tests {
    use holdfast_domain::ci::Status;

    use super::*;

    #[test]
    fn the_most_important_blocker_decides_the_status() {
        let conflicts = || Blocker::Conflicts(Vec::new());
        for (blockers, expected) in [
            (vec![], None),
            (vec![Blocker::NotAllowed], None),
            (vec![conflicts(), Blocker::WorkInProgress], Some("draft_status")),
            (vec![Blocker::WorkInProgress, Blocker::NotOpen], Some("not_open")),
            (vec![Blocker::Pipeline(None), conflicts()], Some("conflict")),
            (vec![Blocker::Pipeline(Some(Status::Running))], Some("ci_still_running")),
            (vec![Blocker::Pipeline(Some(Status::Failed))], Some("ci_must_pass")),
        ] {
            assert_eq!(merge_status_by_blockers(&blockers), expected, "{blockers:?}");
        }
    }
}

//! Presents merge requests and their versions.

use std::io;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::merge_requests::version::{ComparedVersion, VersionDetails};
use holdfast_app::repository::browse::compare::ComparisonParts;
use holdfast_domain::merge_requests::is_work_in_progress;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::commit::{CommitSummary, present_commit_summary};
use super::compare::{DiffBody, present_diffs_in};
use super::milestone::{self, MilestoneBody};
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct MergeRequestBody {
    pub id: i64,
    /// Number of the merge request within the target project.
    pub iid: i64,
    /// Id of the target project.
    pub project_id: i64,
    pub title: String,
    pub description: Option<String>,
    /// `opened`, `closed`, `reopened` or `merged`.
    pub state: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub target_branch: String,
    pub source_branch: String,
    /// Id of the project of the source branch, null if it was deleted.
    pub source_project_id: Option<i64>,
    pub target_project_id: i64,
    pub upvotes: i32,
    pub downvotes: i32,
    pub author: UserSummaryBody,
    pub assignee: Option<UserSummaryBody>,
    /// Names of the labels.
    pub labels: Vec<String>,
    pub milestone: Option<MilestoneBody>,
    /// Whether the title begins with `WIP`.
    pub work_in_progress: bool,
    /// Whether it is merged when the pipeline of its head succeeds.
    pub merge_when_build_succeeds: bool,
    /// `can_be_merged` or `cannot_be_merged` if the present branches were tested, otherwise `unchecked`.
    pub merge_status: &'static str,
    /// Id of the last commit of the source branch.
    pub sha: String,
    pub merge_commit_sha: Option<String>,
    /// Whether the current user is subscribed.
    pub subscribed: bool,
    pub user_notes_count: i32,
    /// Whether the merge that waits for a pipeline deletes the source branch.
    pub should_remove_source_branch: Option<bool>,
    /// Whether the author wants the source branch to be deleted after the merge.
    pub force_remove_source_branch: Option<bool>,
    pub web_url: String,
}

pub fn present_merge_request(request: MergeRequest, site: &InstanceUrls) -> MergeRequestBody {
    MergeRequestBody {
        id: request.id.get(),
        iid: request.iid,
        project_id: request.project_id.get(),
        work_in_progress: is_work_in_progress(&request.title),
        source_project_id: request.source_project().map(|id| id.get()),
        title: request.title,
        description: request.description,
        state: request.state.as_str(),
        created_at: request.created_at.into(),
        updated_at: request.updated_at.into(),
        target_branch: request.target_branch,
        source_branch: request.source_branch,
        target_project_id: request.project_id.get(),
        upvotes: request.upvotes,
        downvotes: request.downvotes,
        author: user::summary(&request.author, site),
        assignee: request.assignee.as_ref().map(|assignee| user::summary(assignee, site)),
        labels: request.labels,
        milestone: request.milestone.map(milestone::present_milestone),
        merge_when_build_succeeds: request.waits_for_build,
        merge_status: request.merge_status.as_str(),
        sha: request.head,
        merge_commit_sha: request.merge_commit,
        subscribed: request.subscribed,
        user_notes_count: request.notes_count,
        should_remove_source_branch: request.waiting_removes_source_branch,
        force_remove_source_branch: request.removes_source_branch,
        web_url: site.url(&format!("/{}/merge_requests/{}", request.project_path, request.iid)),
    }
}

/// A merge request with the changes of its newest version.
#[derive(Serialize, ToSchema)]
pub struct MergeRequestChangesBody {
    #[serde(flatten)]
    request: MergeRequestBody,
    changes: Vec<DiffBody>,
}

/// Serializes a merge request with its changes, while git produces them.
pub fn present_changes(
    request: MergeRequest,
    changes: ComparisonParts,
    site: &InstanceUrls,
) -> BoxStream<'static, io::Result<Bytes>> {
    present_diffs_in(&present_merge_request(request, site), "changes", changes)
}

/// A version of a merge request: a head that it had, and the target branch at that time.
#[derive(Serialize, ToSchema)]
pub struct VersionBody {
    id: i64,
    head_commit_sha: String,
    /// Merge base of head and start, null if they have no common history or it was not computed yet.
    base_commit_sha: Option<String>,
    /// Last commit of the target branch at that time.
    start_commit_sha: Option<String>,
    created_at: Timestamp,
    merge_request_id: i64,
    /// `collected`, `empty` if no file differs, or `overflow` if the comparison was not computed yet.
    state: &'static str,
    /// Number of files that differ.
    real_size: String,
}

pub fn present_version(compared: &ComparedVersion) -> VersionBody {
    let ComparedVersion { version, comparison } = compared;
    VersionBody {
        id: version.id.get(),
        head_commit_sha: version.head.to_string(),
        base_commit_sha: comparison.and_then(|it| it.base).map(|id| id.to_string()),
        start_commit_sha: version.start.map(|id| id.to_string()),
        created_at: version.created_at.into(),
        merge_request_id: version.request.get(),
        state: match comparison {
            None => "overflow",
            Some(comparison) if comparison.files == 0 => "empty",
            Some(_) => "collected",
        },
        real_size: comparison.map_or(0, |it| it.files).to_string(),
    }
}

#[derive(Serialize, ToSchema)]
struct VersionWithCommits {
    #[serde(flatten)]
    version: VersionBody,
    commits: Vec<CommitSummary>,
}

/// A version of a merge request with its commits and changes.
#[derive(Serialize, ToSchema)]
pub struct VersionDetailsBody {
    #[serde(flatten)]
    version: VersionWithCommits,
    diffs: Vec<DiffBody>,
}

/// Serializes a version with its changes, while git produces them.
pub fn present_version_details(details: VersionDetails) -> BoxStream<'static, io::Result<Bytes>> {
    let commits = details.commits.into_iter().map(present_commit_summary).collect();
    let version = VersionWithCommits { version: present_version(&details.version), commits };
    present_diffs_in(&version, "diffs", details.changes)
}

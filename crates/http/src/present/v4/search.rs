//! Presents what a search finds.

use serde::Serialize;
use utoipa::ToSchema;

use super::issue::ProjectIssue;
use super::merge_request::MergeRequestBasic;
use super::milestone::ProjectMilestone;
use super::project::ProjectBasic;
use super::user::UserBasic;

/// Something that a search has found. All results of a search are of one kind.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum SearchResult {
    Project(Box<ProjectBasic>),
    Issue(Box<ProjectIssue>),
    MergeRequest(Box<MergeRequestBasic>),
    Milestone(Box<ProjectMilestone>),
    User(Box<UserBasic>),
}

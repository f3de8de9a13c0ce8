//! Presents branches.

use holdfast_app::repository::refs::branch::BranchDetails;
use holdfast_domain::site::ProjectLinks;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{CommitBody, present_commit};
use crate::InstanceUrls;

/// A branch of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectBranch {
    pub name: String,
    pub commit: CommitBody,
    /// Whether the default branch contains the branch and has more commits. Only its newest 10,000 commits are
    /// searched.
    pub merged: bool,
    pub protected: bool,
    pub developers_can_push: bool,
    pub developers_can_merge: bool,
    /// Whether the current user may push to the branch.
    pub can_push: bool,
    pub default: bool,
    pub web_url: String,
}

pub fn present_branch(details: BranchDetails, project_path: &str, site: &InstanceUrls) -> ProjectBranch {
    let BranchDetails { branch, address, is_default, is_merged, can_push } = details;
    ProjectBranch {
        name: branch.name,
        commit: present_commit(branch.commit, project_path, site),
        merged: is_merged,
        protected: branch.protection.is_protected,
        developers_can_push: branch.protection.developers_can_push,
        developers_can_merge: branch.protection.developers_can_merge,
        can_push,
        default: is_default,
        web_url: site.url(&ProjectLinks::new(project_path).tree(&address, "")),
    }
}

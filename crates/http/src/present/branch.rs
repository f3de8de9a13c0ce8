//! Presents branches.

use holdfast_app::repository::refs::branch::Branch;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{self, CommitBody};

#[derive(Serialize, ToSchema)]
pub struct BranchBody {
    pub name: String,
    pub commit: CommitBody,
    pub protected: bool,
    pub developers_can_push: bool,
    pub developers_can_merge: bool,
}

pub fn present_branch(branch: Branch) -> BranchBody {
    BranchBody {
        name: branch.name,
        commit: commit::commit(branch.commit),
        protected: branch.protection.is_protected,
        developers_can_push: branch.protection.developers_can_push,
        developers_can_merge: branch.protection.developers_can_merge,
    }
}

#[derive(Serialize, ToSchema)]
pub struct RemovedBranch {
    pub branch_name: String,
}

/// A message about work that continues in the background.
#[derive(Serialize, ToSchema)]
pub struct BackgroundWorkBody {
    pub message: &'static str,
}
